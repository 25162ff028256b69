import type { DraftFile, TaskDraft } from '../../../core/row.ts'
import { applyFilePatch, type FilePatch } from '../../../formats/unified-diff.ts'
import { shellQuote } from '../../../lib/shell.ts'
import type { RepositoryFiles } from '../../shared/repositories/repository.ts'
import { asText, isTestFile } from '../../shared/repositories/test-files.ts'
import { type TestRun, verifierFiles } from '../../shared/repositories/test-run.ts'
import type { SweRow } from './parse-row.ts'

type Files = Record<string, DraftFile>

/** A task whose environment is built from files: what is broken, what tests it, and the fix. */
export function draftFromFiles(
  row: SweRow,
  repository: RepositoryFiles,
  run: TestRun,
  { base, setup }: { readonly base: string; readonly setup: readonly string[] },
): TaskDraft['files'] {
  const broken = patched(repository, row.bug)
  const fixed = patched(broken, row.fix.files)
  const held = heldFiles(row, broken)
  const changed = row.fix.files.flatMap(({ oldPath, newPath }) => [oldPath, newPath]).filter((path) => path !== null)
  return {
    'environment/Dockerfile': {
      data: `FROM ${base}\n\n${setup.map((line) => `RUN ${line}\n`).join('')}WORKDIR ${run.workdir}\nCOPY repo ${run.workdir}\n`,
    },
    ...below('environment/repo', row.bug.length > 0 ? withoutFailing(broken, row) : broken),
    ...verifierFiles({ run, tests: row, files: held }),
    ...solutionFiles([...new Set(changed)], fixed, run.workdir),
    'solution/fix.patch': { data: row.fix.text },
  }
}

/** Test files for the verifier: the repository's own, overridden by the test patch and the row's files. */
function heldFiles({ testPatch, testFiles, failToPass, passToPass }: SweRow, broken: RepositoryFiles): Files {
  const after = patched(broken, testPatch?.files ?? [])
  const named = new Set([
    ...(testPatch?.files.flatMap(({ newPath }) => newPath ?? []) ?? []),
    ...filesOfTests([...failToPass, ...passToPass], after),
  ])
  const own = Object.entries(after).filter(([path]) => isTestFile(path) || named.has(path))
  const whole = Object.entries(testFiles).map(([path, data]) => [path, { data }] as const)
  return Object.fromEntries([...own, ...whole])
}

/** As in SWE-smith, the agent does not get the files of failing tests, which would show what is broken. */
function withoutFailing(files: RepositoryFiles, { failToPass }: SweRow): RepositoryFiles {
  const failing = filesOfTests(failToPass, files)
  return Object.fromEntries(Object.entries(files).filter(([path]) => !failing.has(path)))
}

/** The files that contain the tests, by the tests' names: `a/test_b.py::test` or `a.test_b.Class.test`. */
function filesOfTests(names: readonly string[], files: RepositoryFiles): ReadonlySet<string> {
  const fileOf = (name: string) => {
    if (name.includes('::')) return name.slice(0, name.indexOf('::'))
    const parts = name.split('.')
    const paths = parts.map((_, i) => `${parts.slice(0, i + 1).join('/')}.py`)
    return paths.find((path) => Object.hasOwn(files, path))
  }
  return new Set(names.flatMap((name) => fileOf(name) ?? []))
}

/** Whole files, because a small image may lack git or patch. */
function solutionFiles(paths: readonly string[], fixed: RepositoryFiles, workdir: string): Files {
  const steps = paths.map((path) => {
    const target = shellQuote(`${workdir}/${path}`)
    if (!fixed[path]) return `rm -f ${target}\n`
    return `mkdir -p "$(dirname ${target})" && cp "$here"/files/${shellQuote(path)} ${target}\n`
  })
  const files = Object.fromEntries(paths.flatMap((path) => (fixed[path] ? [[path, fixed[path]]] : [])))
  return {
    'solution/solve.sh': { data: `#!/bin/sh\nset -e\nhere=$(dirname "$0")\n${steps.join('')}`, executable: true },
    ...below('solution/files', files),
  }
}

/** The files after a patch; throws PatchError if it does not apply. */
function patched(files: RepositoryFiles, patches: readonly FilePatch[]): RepositoryFiles {
  const result: Files = { ...files }
  for (const patch of patches) {
    const before = patch.oldPath === null ? undefined : result[patch.oldPath]
    const content = applyFilePatch(asText(before?.data ?? '') ?? '', patch)
    if (patch.oldPath !== null && patch.oldPath !== patch.newPath) delete result[patch.oldPath]
    if (patch.newPath !== null) result[patch.newPath] = { ...before, data: content }
  }
  return result
}

/**
 * A task in an image that already holds the repository. The history is removed because it contains the fix, and so are
 * results that some images ship; a commit of the rest lets the verifier restore tests so that a test patch applies.
 */
export function draftFromImage(row: SweRow, run: TestRun, image: string, checkout: string | null): TaskDraft['files'] {
  const { testPatch, testFiles } = row
  const { workdir } = run
  const git = `git -C ${shellQuote(workdir)}`
  const scrub = [
    ...(checkout === null
      ? []
      : [
          `(git checkout -q ${shellQuote(checkout)} || (git fetch -q origin && git checkout -q ${shellQuote(checkout)}))`,
        ]),
    `rm -rf .git ${results.flatMap((name) => [name, `/${name}`, `/root/${name}`]).join(' ')}`,
    'git init -q && git add -A && git -c user.name=base -c user.email=base@localhost commit -q -m base && git tag task-base',
  ]
  const touched =
    testPatch?.files.flatMap(({ newPath, oldPath }) => newPath ?? oldPath ?? []) ??
    (Object.keys(testFiles).length > 0 ? [] : testFilesOf(row))
  const isReversed = row.bug.length > 0
  return {
    'environment/Dockerfile': {
      data: `FROM ${image}\n\nWORKDIR ${workdir}\n${scrub.map((line) => `RUN ${line}\n`).join('')}`,
    },
    ...verifierFiles({
      ...{ run, tests: row },
      files: Object.fromEntries(Object.entries(testFiles).map(([path, data]) => [path, { data }])),
      prepare: [
        ...touched.map(
          (path) =>
            `${git} checkout -q task-base -- ${shellQuote(path)} 2> /dev/null || rm -rf ${shellQuote(`${workdir}/${path}`)}`,
        ),
        ...(testPatch === null ? [] : [`${git} apply /tests/test.patch`]),
      ],
    }),
    ...(testPatch && { 'tests/test.patch': { data: testPatch.text } }),
    'solution/solve.sh': {
      data: `#!/bin/sh\nset -e\n${git} apply${isReversed ? ' --reverse' : ''} "$(dirname "$0")"/fix.patch\n`,
      executable: true,
    },
    'solution/fix.patch': { data: row.fix.text },
  }
}

/** Files in R2E-Gym images besides the repository, some of which contain the whole fix. */
const results = [
  ...['r2e_tests', 'run_tests.sh', 'parsed_commit.json', 'execution_result.json', 'expected_test_output.json'],
  ...['syn_issue.json', 'modified_files.json', 'modified_entities.json'],
]

/** The files of tests named as `file.py::test`. */
export function testFilesOf({ failToPass, passToPass }: SweRow): string[] {
  const named = [...failToPass, ...passToPass].flatMap((name) => /^([^\s:]+\.\w+)::/.exec(name)?.[1] ?? [])
  return [...new Set(named)]
}

function below(dir: string, files: RepositoryFiles): Files {
  return Object.fromEntries(Object.entries(files).map(([path, file]) => [`${dir}/${path}`, file]))
}
