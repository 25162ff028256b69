import { createHash } from 'node:crypto'
import { type DraftFile, shellQuote } from 'ot-agent'
import type { Entry, Tree, Work } from './work.ts'

/**
 * The tests of a work: the kind, content and mode of every path, what must be gone, and what commands must print. They
 * hold only digests, so that reading them does not reveal the answer.
 */
export function renderTests(root: string, work: Work): Record<string, DraftFile> {
  const probes = work.probes ?? []
  const files: Record<string, DraftFile> = {
    'tests/test.sh': { data: testScript(root, work), executable: true },
    'tests/expected.tsv': { data: expectedLines(work).join('') },
  }
  if (work.closed)
    files['tests/paths.txt'] = {
      data: allPaths(work.after)
        .map((path) => `${path}\n`)
        .join(''),
    }
  probes.forEach(({ command }, at) => {
    files[`tests/probes/${at + 1}.sh`] = { data: `#!/bin/bash\n${command}\n`, executable: true }
  })
  if (probes.length > 0) {
    files['tests/probes.tsv'] = { data: probes.map(({ stdout }, at) => `${at + 1}\t${sha256(stdout)}\n`).join('') }
  }
  for (const [path, data] of Object.entries(work.hidden ?? {})) files[`tests/hidden/${path}`] = { data }
  return files
}

/** Whether the tests would pass if nothing were done: then there is no task. */
export function isDoneAlready(work: Work): boolean {
  return (
    (work.probes ?? []).length === 0 &&
    expectedLines(work).join('') === expectedLines({ ...work, after: work.before }).join('')
  )
}

/** `WHAT<tab>MODE<tab>PATH`, one line for each path before or after the work. */
function expectedLines({ before, after }: Work): string[] {
  const gone = Object.keys(before).filter((path) => !Object.hasOwn(after, path) && !isParent(path, after))
  const there = Object.entries(after).map(([path, entry]) => `${what(entry)}\t${modeOf(entry)}\t${path}\n`)
  return [...there, ...gone.map((path) => `none\t-\t${path}\n`)].sort()
}

function isParent(path: string, tree: Tree): boolean {
  return Object.keys(tree).some((other) => other.startsWith(`${path}/`))
}

function what(entry: Entry): string {
  if (entry.kind === 'dir' || entry.kind === 'some') return entry.kind
  return entry.kind === 'link' ? `link:${entry.to}` : `file:${sha256(entry.data)}`
}

function modeOf(entry: Entry): string {
  return entry.kind === 'link' ? '-' : (entry.mode ?? '-')
}

/** Every path and all its parent folders, in byte order. */
function allPaths(tree: Tree): string[] {
  const paths = new Set<string>()
  for (const path of Object.keys(tree)) {
    const parts = path.split('/')
    for (let depth = 1; depth <= parts.length; depth++) paths.add(parts.slice(0, depth).join('/'))
  }
  return [...paths].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

function testScript(root: string, work: Work): string {
  return `#!/bin/bash
# Compares what is there, by kind, content and mode, with digests of what must be there.
set -u
export LC_ALL=C TZ=UTC
reward=0
trap 'echo "$reward" > /logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit 0; }
what() {
  if [ -L "$1" ]; then echo "link:$(readlink "$1")"
  elif [ -d "$1" ]; then echo dir
  elif [ -f "$1" ]; then echo "file:$(sha256sum < "$1" | cut -c 1-64)"
  else echo none; fi
}

cd ${shellQuote(root)} || fail "the work folder is gone"
while IFS=$'\\t' read -r expected mode path; do
  found=$(what "$path")
  case $expected:$found in some:file:*) found=some ;; esac
  [ "$found" = "$expected" ] || fail "$path: expected \${expected:0:17}, found \${found:0:17}"
  [ "$mode" = - ] || [ "$(stat -c %a "$path")" = "$mode" ] || fail "$path: expected mode $mode, found $(stat -c %a "$path")"
done < /tests/expected.tsv
${work.closed ? closedCheck : ''}${(work.probes ?? []).length > 0 ? probeCheck : ''}echo "everything is as it must be"
reward=1
`
}

const closedCheck = `find . -mindepth 1 -printf '%P\\n' | sort | diff /tests/paths.txt - || fail "something is left over or missing"
`

const probeCheck = `export hidden=/tests/hidden
while IFS=$'\\t' read -r number digest; do
  scratch=$(mktemp -d)
  export scratch
  found=$(timeout 60 bash "/tests/probes/$number.sh" 2> /dev/null < /dev/null | sha256sum | cut -c 1-64)
  [ "$found" = "$digest" ] || fail "probe $number prints something else"
done < /tests/probes.tsv
`

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}
