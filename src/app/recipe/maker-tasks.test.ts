import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { streamOf } from '../../core/stream-stage.ts'
import { traceLineage } from '../../run/recipe/lineage.ts'
import { readReport } from '../../run/recipe/read-report.ts'
import { runRecipe } from '../run-recipe.ts'
import { givingTasks } from './maker-tasks.ts'

const rows = [
  { id: 'a', question: 'What is 6 times 7?', answer: '42' },
  { id: 'b', question: 'Too short', answer: '1' },
  { id: 'c', question: 'How many days has a leap year?', answer: '366' },
]

test('a maker stands in a recipe: its drafts go on as tasks, and what it drops is counted', async () => {
  const folder = await makeTempDir()
  await writeFile(join(folder, 'rows.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const template = { instruction: '{{question}}', answer: { field: 'answer', check: 'number' }, minChars: 15 }
  const stages = [
    { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } },
    { use: 'makers/row-template', with: template },
  ]
  const made = await runRecipe({ name: 'quiz', stages }, { folder, out: join(folder, 'out') })
  expect(made.stages.map(({ id, given, drops }) => [id, given, drops])).toEqual([
    ['file', 3, {}],
    ['row-template', 2, { 'too-short': 1 }],
  ])
  const found = await traceLineage(made.dir, await readReport(made.dir), 'rows.rows-c')
  expect(found?.task).toMatchObject({
    ...{ name: 'rows-c', source: 'rows', instruction: expect.stringMatching(/^How many days has a leap year\?/) },
    lineage: { strategy: 'row-template', rowId: 'c' },
  })
  const ofRow = await traceLineage(made.dir, await readReport(made.dir), 'c')
  expect(ofRow).toMatchObject({ way: [{ step: 'file', kept: true }], made: ['rows.rows-c'] })
})

test('what a maker of a user gives that is no draft is dropped with the reason', async () => {
  const gives = async function* () {
    yield { instruction: 'x', files: {} }
    yield { name: 'empty', instruction: ' ', files: {}, lineage: { pipeline: 'p' } }
  }
  const made = givingTasks({ kind: 'map', takes: 'raw', gives: 'draft', run: gives })
  const at = { seed: 1, signal: new AbortController().signal, workDir: await makeTempDir(), log: () => {} }
  const dropped: unknown[] = []
  for await (const row of streamOf(made, gives(), at)) dropped.push(row)
  expect(dropped).toEqual([
    { drop: 'bad-draft', detail: 'expected a draft with a name and a lineage' },
    { drop: 'bad-draft', detail: expect.stringContaining('expected an instruction'), id: 'empty' },
  ])
})
