import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { type Dropped, type RawRow, UserError } from 'ot-agent'

/** Where the dataset is. */
export const repository = 'https://github.com/microsoft/InferredBugs'

/** What Infer found in the repositories of the dataset. */
export const kinds = ['NULL_DEREFERENCE', 'RESOURCE_LEAK', 'THREAD_SAFETY_VIOLATION', 'UNINITIALIZED_VALUE']

/** Every `bug.json` of a clone, with the files beside it. */
export async function* readRecords(inputDir: string | null): AsyncGenerator<RawRow | Dropped, void, void> {
  if (inputDir === null)
    throw new UserError(
      'inferredbugs: expected a clone of the dataset’s repository, got none',
      `git clone ${repository}, then name it with --input-dir`,
    )
  const found = await readdir(inputDir, { recursive: true })
  for (const path of found.filter((name) => basename(name) === 'bug.json').sort()) {
    const dir = dirname(join(inputDir, path))
    const id = relative(inputDir, dir).replaceAll('/', '-')
    try {
      const bug = JSON.parse(await readFile(join(inputDir, path), 'utf8'))
      const [file_before, file_after] = await Promise.all(
        ['file_before.txt', 'file_after.txt'].map((name) => readFile(join(dir, name), 'utf8')),
      )
      yield { id, source: 'inferredbugs', fields: { ...bug, file_before, file_after } }
    } catch (error) {
      yield { drop: 'unreadable-row', detail: String(error).slice(0, 200), id }
    }
  }
}

/** Numbers of the lines of the old file from the first that differs to the last; an insertion counts as the line above it. */
export function changedLines(before: string, after: string): number[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < Math.min(old.length, fresh.length) && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, fresh.length) - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const end = Math.max(head + 1, old.length - tail)
  return Array.from({ length: end - head }, (_, i) => head + i + 1)
}

/** The kind has to be right, and the line one of those that the bug or its fix is on. */
export function testScript(kind: string): string {
  return `#!/bin/sh
reward=0
if [ -f /app/answer.txt ] && [ ! -L /app/answer.txt ]; then
  if head -c 1000 /app/answer.txt | tr -s '\\r\\n\\t' ' ' | awk -v kind=${kind} '
    FNR == NR { lines[$1] = 1; next }
    { right = NF == 2 && $1 == kind && ($2 in lines) }
    END { exit !right }
  ' /tests/lines.txt -; then
    reward=1
  fi
fi
echo "$reward" > /logs/verifier/reward.txt
`
}
