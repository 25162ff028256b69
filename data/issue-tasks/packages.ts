import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { RawRow } from 'ot-agent'

/** How to run a Python package's tests, and what they need. */
export interface PackageTests {
  /** `unittest` is part of Python; `pytest` has to be installed. */
  readonly runner: 'pytest' | 'unittest'
  /** What pip installs for the tests. */
  readonly install: readonly string[]
  /** Number of earlier versions whose bugs are brought back. */
  readonly versions: number
}

/**
 * A project's settings may ask for plug-ins that are not installed: coverage, style checks. Layouts with `src` and
 * `lib` need no installation. Some packages keep all tests in one file, `tests.py`.
 */
const commands = {
  pytest:
    'PYTHONPATH=src:lib:. python3 -m pytest -q -rA --tb=short -p no:cacheprovider --continue-on-collection-errors -o addopts= -o "python_files=test_*.py *_test.py tests.py test.py" -W ignore::pytest.PytestConfigWarning',
  unittest: 'PYTHONPATH=src:lib:. python3 -m unittest -v',
}

/**
 * One row per package in a folder of source distributions (`NAME-VERSION.tar.gz`) or unpacked packages. The newest
 * version is used; earlier ones show which bugs were fixed.
 */
export async function* readPackages(dir: string, { runner, install, versions }: PackageTests): AsyncGenerator<RawRow> {
  const packages = new Map<string, { version: string; path: string }[]>()
  for (const name of (await readdir(dir)).sort()) {
    const path = resolve(join(dir, name))
    const [, own, version = ''] =
      /^(.+?)-(\d[^-]*)\.(?:tar\.gz|tgz)$/.exec(name) ?? ((await stat(path)).isDirectory() ? folderName(name) : [])
    if (own === undefined || name.startsWith('.')) continue
    const id = own.toLowerCase().replace(/[-_.]+/g, '-')
    packages.set(id, [...(packages.get(id) ?? []), { version, path }])
  }
  const options = install.map((one) => `'${one.replaceAll("'", '')}'`).join(' ')
  for (const [name, found] of packages) {
    const [newest, ...older] = found.sort((a, b) => byVersion(b.version, a.version)).map(({ path }) => path)
    yield {
      id: name,
      source: 'packages',
      fields: {
        ...{ name, repo: newest, test_command: commands[runner], test_format: runner },
        ...(older.length > 0 && versions > 0 && { older: older.slice(0, versions) }),
        // Debian's pip refuses to install system-wide without this.
        ...(install.length > 0 && {
          base_setup: `PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --quiet --root-user-action=ignore ${options}`,
        }),
      },
    }
  }
}

function folderName(name: string): (string | undefined)[] {
  return /^(.+?)-(\d[^-]*)$/.exec(name) ?? [name, name]
}

/** Compares number by number: 1.10 is newer than 1.9. */
export function byVersion(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(/[.+]/).map((part) => Number.parseInt(part, 10) || 0))
  for (let i = 0; i < Math.max(left?.length ?? 0, right?.length ?? 0); i++) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
