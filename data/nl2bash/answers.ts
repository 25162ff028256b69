/** What is compared in an answer: paths in any order, one number, lines, or the state of the folder afterwards. */
export type AnswerKind = 'paths' | 'number' | 'lines' | 'sorted-lines' | 'found-lines' | 'state' | 'modes'

export const asks: Readonly<Record<AnswerKind, string>> = {
  paths:
    'Write the paths of what you find to `/app/output.txt`, one per line and relative to `/app/workspace`. Their order does not matter, and the folder that is searched does not count.',
  number: 'Write the number, and nothing else, to `/app/output.txt`.',
  lines:
    'Write the resulting lines to `/app/output.txt`, in that order. How much white space stands between words does not matter.',
  'sorted-lines':
    'Write the resulting lines to `/app/output.txt`. Their order does not matter, nor does the amount of white space between words.',
  'found-lines':
    'Write the matching lines to `/app/output.txt`. Their order does not matter, and the name of the file and the number of the line may stand in front of them, as `grep` prints them, or not.',
  modes:
    'Do it: what counts is what is in the folder afterwards and which permissions the files have. Leave everything else in it as it is.',
  state: 'Do it: what counts is what is in the folder afterwards. Leave everything else in it as it is.',
}

/** How to normalize each kind for comparison. */
const plain: Readonly<Record<AnswerKind, string>> = {
  paths: `tr -d '\\r' < "$1" | sed -e 's/[[:space:]]*$//' -e 's,^/app/workspace/,,' -e 's,^\\(\\./\\)*,,' -e 's,/*$,,' | grep -v -x -e '' -e '\\.' -e '/app/workspace' "\${roots[@]}" | LC_ALL=C sort -u`,
  number: `tr -d '\\r' < "$1" | grep -o -E '[0-9]+' | head -n 1`,
  lines: `tr -d '\\r' < "$1" | sed -e 's/[[:space:]]\\{1,\\}/ /g' -e 's/^ //' -e 's/ $//'`,
  'sorted-lines': `tr -d '\\r' < "$1" | sed -e 's/[[:space:]]\\{1,\\}/ /g' -e 's/^ //' -e 's/ $//' | LC_ALL=C sort`,
  'found-lines': `tr -d '\\r' < "$1" | sed -E -e 's,^(\\./|/app/workspace/)?[A-Za-z0-9_. +@%=/-]*[./][A-Za-z0-9_. +@%=/-]*:([0-9]+:)?,,' -e 's/^[0-9]+://' -e 's/[[:space:]]+/ /g' -e 's/^ //' -e 's/ $//' | LC_ALL=C sort`,
  state: 'cat "$1"',
  modes: 'cat "$1"',
}

/** Runs the known command in an untouched copy of the folder and compares. An empty answer never passes. */
export function testScript(kind: AnswerKind, roots: readonly string[] = []): string {
  const start = `#!/bin/bash
reward=0
work=$(mktemp -d)
cp -R /tests/workspace "$work/workspace"
(cd "$work/workspace" && bash /tests/make.sh)
`
  const end = 'echo "$reward" > /logs/verifier/reward.txt\n'
  // Most requests leave open whether the searched folder itself is included.
  const withoutRoots =
    kind === 'modes' && roots.length > 0 ? `grep -v -E '^d [0-7]+ \\./(${roots.join('|')}) *$' | ` : ''
  if (kind === 'state' || kind === 'modes')
    return `${start}list() { (cd "$1" && find . -mindepth 1 -printf '${kind === 'modes' ? '%y %m %p ' : '%y %p '}\\n' | ${withoutRoots}LC_ALL=C sort && find . -type f -exec cksum {} + | LC_ALL=C sort && links); }
links() { find . -type l | LC_ALL=C sort | while IFS= read -r path; do echo "$path $(realpath -m --relative-to=. -- "$path")"; done; }
before=$(list "$work/workspace")
(cd "$work/workspace" && timeout 60 bash /tests/command.sh) > /dev/null 2>&1
expected=$(list "$work/workspace")
if [ "$expected" != "$before" ] && [ "$(list /app/workspace)" = "$expected" ]; then
  reward=1
fi
${end}`
  return `${start}(cd "$work/workspace" && timeout 60 bash /tests/command.sh) > "$work/expected" 2> /dev/null
roots=(${roots.map((root) => `-e '${root}'`).join(' ')})
plain() { ${plain[kind]}; }
if [ -f /app/output.txt ] && [ ! -L /app/output.txt ]; then
  head -c 1000000 /app/output.txt > "$work/actual"
  expected=$(plain "$work/expected")
  if [ -n "$expected" ] && [ "$(plain "$work/actual")" = "$expected" ]; then
    reward=1
  fi
fi
${end}`
}
