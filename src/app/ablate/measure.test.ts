import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { measureRows } from './measure.ts'

type Row = readonly [job: string, trial: string, task: string, reward: number | null]

/** A step of traces with these rows in its shards. */
async function stepOf(dir: string, shards: readonly (readonly Row[])[]): Promise<StepOutput> {
  await using sql = await SqlDatabase.open({ memoryMb: 100, threads: 1, tempDir: join(dir, 'sql') })
  const written = []
  for (const [index, rows] of shards.entries()) {
    const part = join(dir, `part-${index}.parquet`)
    const columns = { job: 'VARCHAR', trial_name: 'VARCHAR', task: 'VARCHAR', reward: 'DOUBLE', source: 'VARCHAR' }
    await sql.fill(
      `s${index}`,
      columns,
      rows.map((row) => [...row, 'set']),
    )
    await sql.run(`COPY s${index} TO '${part}' (FORMAT parquet)`)
    written.push({ index, rows: rows.length, counts: [], part, kept: null, rejects: '' })
  }
  const rows = shards.flat().length
  const manifest = { schema: 'step/1', id: 'kept', digest: 'x', kind: 'trace', shards: 2, rows, sources: {} } as const
  return { dir, manifest: { ...manifest, counts: [] }, shards: written }
}

test('a trial counts once, also when its rows are in two shards', async () => {
  const dir = await makeTempDir()
  const step = await stepOf(dir, [
    [
      ['job', 'a', 'one', 1],
      ['job', 'b', 'one', 0],
    ],
    [
      ['job', 'b', 'one', 0],
      ['job', 'c', 'two', 1],
      ['job', 'd', 'two', null],
    ],
  ])
  const asked = { stage: 'kept', steps: [step], dataDir: dir }
  const { tasks } = await measureRows({ rows: { measure: 'reward' }, result: [] }, asked)
  expect([...tasks]).toEqual([
    ['set/one', [1, 0]],
    ['set/two', [1]],
  ])
})

test('a stage without rows has nothing to measure', async () => {
  const dir = await makeTempDir()
  const asked = { stage: 'kept', steps: [await stepOf(dir, [])], dataDir: dir }
  for (const outcome of [{ rows: { measure: 'turns' as const } }, { teacher: 'kept' }])
    await expect(measureRows({ ...outcome, result: [] }, asked)).rejects.toMatchObject({ name: 'UserError' })
})
