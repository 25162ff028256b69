import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { TaskRow } from '../../core/row.ts'
import type { AnyStage, StageServices } from '../../core/stage.ts'
import { readDropped } from './dropped.ts'
import { traceLineage } from './lineage.ts'
import { readReport } from './read-report.ts'
import { resolveRecipe } from './resolve.ts'
import { runRecipe } from './run-recipe.ts'

/** A task that is rolled out twice; the second trace is too short. */
const stages: Record<string, AnyStage> = {
  source: {
    kind: 'source',
    gives: 'task',
    async *rows() {
      yield {
        ...{ id: 'a', name: 'the-task', source: 's', instruction: 'do it', digest: 'digest-a' },
        ...{ archive: new Uint8Array(), lineage: null, signals: {} },
      }
    },
  },
  twice: {
    kind: 'map',
    takes: 'task',
    gives: 'task',
    expensive: true,
    async *run(rows: AsyncIterable<TaskRow>) {
      for await (const row of rows) for (const attempt of [0, 1]) yield { ...row, signals: { attempt } }
    },
  },
  rollout: {
    kind: 'map',
    takes: 'task',
    gives: 'trace',
    expensive: true,
    async *run(rows: AsyncIterable<TaskRow>) {
      for await (const { id, digest, source, signals } of rows) {
        const { attempt = 0 } = signals
        const trial_name = `${id}.${attempt}__xyz`
        yield {
          ...{ id: `job/${trial_name}/main`, trial_name, task: id, task_digest: digest, source, turns: 5 - attempt },
          ...{ lineage: null, signals },
        }
      }
    },
  },
  long: { kind: 'sql-filter', takes: 'trace', reason: "CASE WHEN turns < 5 THEN 'too-few-turns' END" },
}

async function runStages() {
  const dir = await makeTempDir()
  const recipe = await resolveRecipe(
    { name: 'test', stages: Object.keys(stages).map((use) => ({ use })) },
    async (use) => stages[use]!,
  )
  await runRecipe({ recipe, dir, services: {} as StageServices, signal: new AbortController().signal })
  const report = await readReport(dir)
  return { dir, report }
}

test('a trace is found by its id and by the name of its trial, with its own attempt and what dropped it', async () => {
  const { dir, report } = await runStages()
  const wayOf = async (name: string) =>
    (await traceLineage(dir, report, name))?.way.map((seen) =>
      seen.kept ? `${seen.step} ${JSON.stringify(seen.row.signals)}` : `${seen.stage} drops it: ${seen.reason}`,
    )
  const first = ['source {}', 'twice {"attempt":0}', 'rollout {"attempt":0}', 'long {"attempt":0}']
  const second = ['source {}', 'twice {"attempt":1}', 'rollout {"attempt":1}', 'long drops it: too-few-turns']
  expect(await wayOf('job/a.0__xyz/main')).toEqual(first)
  expect(await wayOf('a.0__xyz')).toEqual(first)
  expect(await wayOf('job/a.1__xyz/main')).toEqual(second)
  expect(await wayOf('a.1__xyz')).toEqual(second)
})

test('a task is found by its name too, and what was made from it is named', async () => {
  const { dir, report } = await runStages()
  const found = await traceLineage(dir, report, 'the-task')
  expect(found?.task?.id).toBe('a')
  expect(found?.made).toEqual(['job/a.0__xyz/main', 'job/a.1__xyz/main'])
  expect((await traceLineage(dir, report, 'job/a.0__xyz/main'))?.made).toEqual([])
})

test('rows that a stage dropped are listed with the reason and the row itself', async () => {
  const { dir, report } = await runStages()
  const ask = { stage: 'long', reason: null, offset: 0, limit: 10 }
  const found = await readDropped(dir, report, ask)
  expect(found).toMatchObject({ total: 1, reasons: { 'too-few-turns': 1 } })
  expect(found.rows).toMatchObject([
    { id: 'job/a.1__xyz/main', reason: 'too-few-turns', detail: null, step: 'rollout', row: { turns: 4 } },
  ])
  expect(await readDropped(dir, report, { ...ask, reason: 'other' })).toMatchObject({ total: 0, rows: [] })
  expect(await readDropped(dir, report, { ...ask, stage: 'source' })).toMatchObject({ total: 0, rows: [] })
  await expect(readDropped(dir, report, { ...ask, stage: 'lnog' })).rejects.toThrow('this run has no stage')
})
