import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { TaskDraft } from '../../core/row.ts'
import { loadBenchmarksAtHand } from './benchmarks-at-hand.ts'

const question = 'How many penguins swim past the lighthouse of Ushuaia on a quiet Sunday in June?'
const draft = (instruction: string) => ({ name: 'x', instruction }) as TaskDraft

async function load(texts: readonly string[] | null) {
  const cwd = await makeTempDir()
  await mkdir(join(cwd, 'benchmarks'))
  const lines = (texts ?? []).map((instruction, id) => `${JSON.stringify({ id: String(id), instruction })}\n`)
  if (texts !== null) await writeFile(join(cwd, 'benchmarks', 'gaia.jsonl'), lines.join(''))
  const notes: string[] = []
  return { ...(await loadBenchmarksAtHand((line) => notes.push(line), cwd)), notes: notes.join('\n') }
}

test('a draft that shares words with a benchmark at hand is found, and missing benchmarks are named', async () => {
  const { benchmarkOf, notes } = await load([question])
  expect(benchmarkOf(draft(`Write a script. ${question.toLowerCase()}`))).toContain('gaia')
  expect(benchmarkOf(draft('Count the lines of /app/poem.txt and write the number to /app/lines.txt.'))).toBe(null)
  expect(notes).toContain('openthoughts-tblite')
  expect(notes).not.toContain('gaia')
})

test('without a pack nothing is compared, which is said; other packs are other tasks', async () => {
  const none = await load(null)
  expect(none.benchmarkOf(draft(question))).toBe(null)
  expect(none.notes).toContain('gaia')
  const digests = [none, await load([question]), await load(['another question of the same benchmark'])]
  expect(new Set(digests.map(({ digest }) => digest)).size).toBe(3)
})
