import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { StageContext, WholeStage } from '../../core/stage.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { apportion } from '../shared/mixing/mix.ts'
import roundRobin from './round-robin.ts'
import topK from './top-k.ts'
import weighted from './weighted.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

const inputs = (rows: Record<string, number>) =>
  Object.entries(rows).map(([stage, count], i) => ({ stage, view: `input_${i}`, rows: count }))

/** The rows a mixer takes, as `branch row`. */
async function mix(stage: WholeStage, rows: Record<string, number>, seed = 1): Promise<string[]> {
  await using sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
  const names = Object.keys(rows)
  for (const [i, count] of Object.values(rows).entries())
    await sql.run(`CREATE TABLE input_${i} AS SELECT range AS row FROM range(${count})`)
  const table = await stage.choose(inputs(rows), { seed, sql } as unknown as StageContext & { sql: SqlDatabase })
  const chosen = await sql.rows(`SELECT input, row FROM ${table} ORDER BY position`)
  return chosen.map(({ input, row }) => `${names[Number(input)]} ${row}`)
}
const make = <T>(
  plugin: { options: { parse(value: unknown): T }; make(options: T, context: never): WholeStage },
  options: object,
) => plugin.make(plugin.options.parse(options), undefined as never)
function counts(rows: string[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [branch = ''] of rows.map((row) => row.split(' '))) sums[branch] = (sums[branch] ?? 0) + 1
  return sums
}

test('a mix has exactly the total that was asked for, in the proportions of the weights', async () => {
  const rows = await mix(make(weighted, { total: 10, weights: { a: 3, b: 1, c: 1 } }), { a: 50, b: 50, c: 50 })
  expect(counts(rows)).toEqual({ a: 6, b: 2, c: 2 })
  expect(new Set(rows).size).toBe(10)
})

test('what a small or capped branch cannot give comes from the others, unless it may repeat itself', async () => {
  expect(counts(await mix(make(weighted, { total: 10, weights: { a: 1, b: 1 } }), { a: 2, b: 50 }))).toEqual({
    a: 2,
    b: 8,
  })
  expect(
    counts(await mix(make(weighted, { total: 10, weights: { a: 1, b: 1 }, caps: { b: 3 } }), { a: 50, b: 50 })),
  ).toEqual({ a: 7, b: 3 })
  const repeated = await mix(make(weighted, { total: 10, weights: { a: 1, b: 1 }, upsample: true }), { a: 2, b: 50 })
  expect(counts(repeated)).toEqual({ a: 5, b: 5 })
  expect(repeated.filter((row) => row === 'a 0').length).toBeGreaterThanOrEqual(2)
})

test('a high temperature makes the shares alike', async () => {
  const flat = counts(await mix(make(weighted, { total: 100, temperature: 1000 }), { a: 1000, b: 100 }))
  expect(flat).toEqual({ a: 50, b: 50 })
})

test('the best k share the total, and the rest give nothing', async () => {
  const rows = await mix(make(topK, { k: 2, ranking: ['c', 'a', 'b'], total: 8 }), { a: 9, b: 9, c: 9 })
  expect(counts(rows)).toEqual({ c: 4, a: 4 })
})

test('round robin takes one row of each in turn', async () => {
  const rows = await mix(make(roundRobin, { total: 5 }), { a: 9, b: 2 })
  expect(rows.map((row) => row[0]).join('')).toBe('ababa')
})

test('the same seed gives the same mix, another seed another', async () => {
  const stage = () => make(weighted, { total: 20 })
  expect(await mix(stage(), { a: 99 }, 5)).toEqual(await mix(stage(), { a: 99 }, 5))
  expect(await mix(stage(), { a: 99 }, 5)).not.toEqual(await mix(stage(), { a: 99 }, 6))
})

test.each([
  [topK, { k: 2, ranking: ['a', 'x'] }, 'no branch ends in "x"'],
  [topK, { k: 3, ranking: ['a'] }, 'at least k = 3 branches'],
  [weighted, { total: 1, weights: { x: 1 } }, 'no branch ends in "x"'],
])('%#: an unknown branch is refused', async (plugin, options, message) => {
  await expect(mix(make(plugin as typeof topK, options), { a: 3 })).rejects.toThrow(message)
})

test('parts add up to the total or to all there is, and none is above its cap', () => {
  const part = fc.record({ weight: fc.integer({ min: 1, max: 100 }), cap: fc.integer({ min: 0, max: 50 }) })
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.array(part, { minLength: 1, maxLength: 8 }), (total, parts) => {
      const caps = parts.map(({ cap }) => cap)
      const given = apportion(
        total,
        parts.map(({ weight }) => weight),
        caps,
      )
      expect(given.reduce((a, b) => a + b, 0)).toBe(
        Math.min(
          total,
          caps.reduce((a, b) => a + b, 0),
        ),
      )
      expect(given.every((count, i) => count >= 0 && count <= caps[i]!)).toBe(true)
    }),
  )
})

test.each([{ weights: { a: 1, b: 3 } }, { temperature: 2 }])(
  '%j without a total would do nothing, and is refused',
  (options) => {
    expect(() => make(weighted, options)).toThrow('expected total with weights or temperature')
  },
)
