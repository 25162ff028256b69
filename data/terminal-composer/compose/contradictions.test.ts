import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { TaskDraft } from '../../../src/core/row.ts'
import { composeTask } from './compose-task.ts'
import { tools } from './work.ts'

/** How instructions list the columns of a table, in the wording of each shape. */
const listings: readonly RegExp[] = [
  /the first line names the columns \(([^)]*)\)/g,
  /a header line \(([^)]*)\)/g,
  /with a header \(([^)]*)\)/g,
  /with the header `([^`]*)`/g,
  /(?:keys in this order: |with the keys |in the order |with the columns )(`[^`]+`(?:, `[^`]+`)+)/g,
  /one record per line as (`[^`]+=\.\.\.`(?: `[^`]+=\.\.\.`)*)/g,
  /a Markdown table: `\| (.*?) \|`/g,
]

function repeatedColumns({ instruction }: TaskDraft): string[] {
  return listings
    .flatMap((listing) => [...instruction.matchAll(listing)])
    .flatMap(([, listed = '']) => {
      const names = listed.replaceAll('`', '').split(/, | \/ |,| \| |=\.\.\. ?/)
      return names.filter((name, at) => name !== '' && names.indexOf(name) !== at)
    })
}

/** Files in the work folder by path, with digests, before the work and as expected after it. */
function treesOf({ files }: TaskDraft) {
  const before = new Map(
    Object.entries(files)
      .filter(([path]) => path.startsWith('environment/files/'))
      .map(([path, { data }]) => [path.slice('environment/files/'.length), sha256(data)]),
  )
  const lines = String(files['tests/expected.tsv']?.data).trimEnd().split('\n')
  const after = new Map(
    lines.map((line) => {
      const [what = '', , path = ''] = line.split('\t')
      return [path, what]
    }),
  )
  return { before, after }
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Files that have to go and files that are wanted, if the instruction treats them as the same. */
function unwantedFiles(draft: TaskDraft): string[] {
  if (draft.files['tests/paths.txt'] === undefined) return []
  const { before, after } = treesOf(draft)
  const made = [...after]
    .filter(([path, what]) => /^(?:file|some)/.test(what) && !before.has(path))
    .map(([path]) => path)
  const unnamed = made.filter((path) => !draft.instruction.includes(path.slice(path.lastIndexOf('/') + 1)))
  const others = made.filter((path) => !/-\d+\.\w+$/.test(path))
  if (/besides the result/.test(draft.instruction) && others.length > 1) return others
  return writesTable(draft) ? unnamed.filter((path) => others.includes(path)) : []
}

function writesTable({ instruction }: TaskDraft): boolean {
  return /(?:Write the result to|The result belongs in) `/.test(instruction)
}

/** Inputs that the instruction says to leave alone, but that the tests expect gone or changed. */
function touchedInputs(draft: TaskDraft): string[] {
  if (!/Do not change the input|The input stays as it is|Leave the input untouched/.test(draft.instruction)) return []
  const { before, after } = treesOf(draft)
  return [...before].filter(([path, digest]) => after.get(path) !== `file:${digest}`).map(([path]) => path)
}

/** Files that a step reads and that stay, if the input has to go and nothing tells the two apart. */
function inputsOrNot(draft: TaskDraft): string[] {
  const { tags } = draft.config!.metadata as { tags: readonly string[] }
  const told = /Leave (.*?) in place/.exec(draft.instruction)?.[1] ?? ''
  if (!tags.includes('remove-source') || !writesTable(draft)) return []
  const { before, after } = treesOf(draft)
  return [...before.keys()].filter((path) => after.get(path)?.startsWith('file:') && !told.includes(`\`${path}\``))
}

/** Results whose lines have to end in two ways. */
function twoLineEnds({ config, instruction }: TaskDraft): string[] {
  const { tags } = config!.metadata as { tags: readonly string[] }
  return tags.includes('crlf-output') && /must have LF only\./.test(instruction) ? ['LF and CR LF'] : []
}

const sample = Array.from({ length: 3000 }, (_, index) => composeTask({ seed: 4711, index, tools }))

test.each([
  ['no table has two columns of one name', repeatedColumns],
  ['no file is wanted and has to go', unwantedFiles],
  ['no input is to stay and has to change', touchedInputs],
  ['no result is to have two kinds of line ends', twoLineEnds],
  ['no file that stays may be taken for the input that goes', inputsOrNot],
])('of 3,000 tasks: %s', (_, contradictionsIn) => {
  const found = sample.flatMap((draft) => {
    const some = contradictionsIn(draft)
    return some.length > 0 ? [`${draft.name}: ${some.join(', ')}`] : []
  })
  expect(found).toEqual([])
})

test('the rules do find tables and folders', () => {
  const tables = sample.filter(({ instruction }) => listings.some((listing) => instruction.match(listing)))
  expect(tables.length).toBeGreaterThan(500)
  const closed = sample.filter(({ files }) => files['tests/paths.txt'] !== undefined)
  expect(closed.length).toBeGreaterThan(100)
})
