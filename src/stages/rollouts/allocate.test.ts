import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { StageContext, WholeStage } from '../../core/stage.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { makeAnyStage } from '../../plugins/make-stage.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
const sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
afterAll(async () => {
  await sql[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true })
})

interface Line {
  readonly row: number
  readonly attempt: number | null
  readonly reason: string | null
}

/** What is chosen from tasks with these digests and lengths, in order; dropped ones come last. */
async function allocate(
  options: object,
  tasks: readonly (readonly [string, object])[],
  seed = 1,
  more: object = {},
): Promise<Line[]> {
  const stage = (await makeAnyStage('rollouts/allocate', { ...options })) as WholeStage
  await sql.run('DROP TABLE IF EXISTS tasks')
  await sql.fill(
    'tasks',
    { row: 'BIGINT', id: 'VARCHAR', digest: 'VARCHAR', signals: 'VARCHAR' },
    tasks.map(([digest, signals], row) => [BigInt(row), `t${row}`, digest, JSON.stringify(signals)]),
  )
  const input = { stage: 'above', view: 'tasks', rows: tasks.length }
  const table = await stage.choose([input], { seed, sql, ...more } as unknown as StageContext & { sql: SqlDatabase })
  const lines = await sql.rows(`SELECT row, reason, signals FROM ${table} ORDER BY position NULLS LAST`)
  return lines.map(({ row, reason, signals }) => ({
    row: Number(row),
    attempt: signals === null ? null : JSON.parse(String(signals)).attempt,
    reason: reason === null ? null : String(reason),
  }))
}
const counts = (lines: readonly Line[]): number[] => {
  const sums: number[] = []
  for (const { row } of lines.filter(({ reason }) => reason === null)) sums[row] = (sums[row] ?? 0) + 1
  return sums
}
const alike = (count: number): [string, object][] => Array.from({ length: count }, (_, i) => [`d${i}`, {}])

test('every task has one rollout, and the rest goes by the signal', async () => {
  const tasks: [string, object][] = [10, 0, 30].map((length, i) => [`d${i}`, { length }])
  expect(counts(await allocate({ target: 11, by: 'length' }, tasks))).toEqual([3, 1, 7])
})

test('the total is exact whatever the signals are, and no task is above its cap', async () => {
  const weights = fc.array(fc.oneof(fc.constant(0), fc.nat(1000), fc.double({ min: 0, max: 1, noNaN: true })), {
    minLength: 1,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(weights, fc.nat(40), fc.integer({ min: 1, max: 9 }), async (given, more, most) => {
      const tasks = given.map((quality, i): [string, object] => [`d${i}`, { quality }])
      const target = Math.min(given.length + more, given.length * most)
      const sums = counts(await allocate({ target, by: 'quality', most }, tasks))
      expect(sums.reduce((a, b) => a + b, 0)).toBe(target)
      expect(sums.length).toBe(given.length)
      for (const sum of sums) expect(sum >= 1 && sum <= most).toBe(true)
    }),
    { numRuns: 25 },
  )
})

test('first attempts come first, and every copy knows its number', async () => {
  const lines = await allocate({ perTask: 2 }, alike(3))
  expect(lines.map(({ row, attempt }) => `${row}:${attempt}`)).toEqual(['0:0', '1:0', '2:0', '0:1', '1:1', '2:1'])
})

test('the same seed allocates the same, and what is left over goes to others with another', async () => {
  const [one, again, other] = [
    counts(await allocate({ target: 15 }, alike(10), 5)),
    counts(await allocate({ target: 15 }, alike(10), 5)),
    counts(await allocate({ target: 15 }, alike(10), 6)),
  ]
  expect(one).toEqual(again)
  expect(one).not.toEqual(other)
})

test('a task that comes twice is one task', async () => {
  const lines = await allocate({ target: 4 }, [
    ['same', {}],
    ['same', {}],
    ['other', {}],
  ])
  expect(counts(lines)).toEqual([2, undefined, 2])
  expect(lines.at(-1)).toMatchObject({ row: 1, reason: 'copy-of-a-task' })
})

test.each([
  [{ target: 2 }, alike(3), 'for 3 unique tasks, got target 2'],
  [{ target: 9, most: 2 }, alike(3), 'expected 3 to 6 rollouts for 3 unique tasks, got target 9'],
  [{ target: 9, by: 'length' }, alike(3), 'expected a signal length of 0 or more, task t0 has none'],
])('%j is refused', async (options, tasks, message) => {
  await expect(allocate(options, tasks)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
})

test.each([
  ['as many each as all tasks would get', 200_000, 48_582, 6, 25],
  ['never less than one each', 100, 100, 6, 6],
  ['what was meant for a part alone', 9, 48_582, 6, 9],
  ['twice each where nobody knows the whole', 20_000, null, 6, 12],
  ['no more than was asked for', 8, null, 6, 8],
])('a run with a limit makes %s', async (_, target, wholeRows, tasks, total) => {
  expect((await allocate({ target }, alike(tasks), 1, { wholeRows })).length).toBe(total)
  const stage = (await makeAnyStage('rollouts/allocate', { target })) as WholeStage
  expect(await stage.expect?.(tasks, { wholeRows } as unknown as StageContext)).toEqual({ rows: total })
})

test.each([{}, { target: 1, perTask: 2 }])('%j does not say how many', async (options) => {
  await expect(makeAnyStage('rollouts/allocate', options)).rejects.toThrow('expected one of target and perTask')
})
