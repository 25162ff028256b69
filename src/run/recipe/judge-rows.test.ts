import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AnyStage, StageServices } from '../../core/stage.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { selectRows } from '../../store/rows/shard-sql.ts'
import { resolveRecipe } from './resolve.ts'
import { runRecipe } from './run-recipe.ts'

let dir: string
let begun: string[]
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
  begun = []
})
afterEach(() => rmSync(dir, { recursive: true }))

const source = (values: readonly number[]): AnyStage => ({
  kind: 'source',
  gives: 'raw',
  async *rows() {
    for (const [i, value] of values.entries()) yield { id: `row-${i}`, source: 'test', fields: { value } }
  },
})

/** Keeps the first row for each remainder of its value; the stage's result says how many rows it saw. */
const firstOf = (id: string, divisor: number): AnyStage => ({
  kind: 'ordered-filter',
  takes: 'raw',
  identity: divisor,
  looksAt: "encode(fields->>'value')",
  begin(_, at) {
    begun.push(id)
    const first = new Map<number, number>()
    let seen = 0
    return {
      decide({ row, bytes }) {
        seen++
        const rest = Number(Buffer.from(bytes).toString()) % divisor
        const twin = first.get(rest)
        if (twin === undefined) first.set(rest, row)
        return twin === undefined ? null : { reason: 'seen', detail: `${rest} like `, twin }
      },
      end: async () => at.saveResult?.({ seen }),
    }
  },
})

const sink: AnyStage = {
  kind: 'exporter',
  takes: 'raw',
  write: async ({ rows }) => ({ counts: { rows }, files: [] }),
}

const resolved = (values: readonly number[], divisors: readonly number[]) =>
  resolveRecipe(
    { name: 'test', stages: ['source', ...divisors.map((_, i) => `f${i}`), 'sink'].map((use) => ({ use })) },
    async (use) => {
      if (use === 'source') return source(values)
      return use === 'sink' ? sink : firstOf(use, divisors[Number(use.slice(1))] ?? 1)
    },
  )

async function run(name: string, values: readonly number[], divisors: readonly number[], until?: string) {
  const signal = new AbortController().signal
  const recipe = await resolved(values, divisors)
  const options = { dir: join(dir, name), services: {} as StageServices, signal, shardRows: 5, memoryMb: 200 }
  return runRecipe({ recipe, ...options, until })
}

/** The ids that each step keeps, the rows it drops with the reason, and what it reports. */
async function told(outcome: Awaited<ReturnType<typeof run>>) {
  await using sql = await SqlDatabase.open({ memoryMb: 200, threads: 1, tempDir: join(dir, 'tmp') })
  const steps = []
  for (const { manifest, shards, dir: place } of outcome.steps.slice(1)) {
    const kept = await sql.rows(`SELECT id FROM (${shards.map(selectRows).join(' UNION ALL ')})`)
    const files = shards.map(({ rejects }) => sqlText(rejects)).join(', ')
    const rejects = await sql.rows(`SELECT id, stage, reason, detail FROM read_parquet([${files}])`)
    const result = readFileSync(join(place, 'result.json'), 'utf8')
    steps.push({ kept: kept.map(({ id }) => id), rejects, counts: manifest.counts, result })
  }
  return steps
}

/** The same, computed directly. */
function plain(values: readonly number[], divisors: readonly number[]) {
  let rows = values.map((value, i) => ({ id: `row-${i}`, value }))
  return divisors.map((divisor) => {
    const seen = rows.length
    const first = new Map<number, string>()
    const details = new Map<string, string>()
    rows = rows.filter(({ id, value }) => {
      const twin = first.get(value % divisor)
      if (twin === undefined) first.set(value % divisor, id)
      else details.set(id, `${value % divisor} like ${twin}`)
      return twin === undefined
    })
    return { kept: rows.map(({ id }) => id), details, seen }
  })
}

test('filters that decide in order share a scan, and each sees what those above it keep', async () => {
  const value = fc.nat({ max: 60 })
  const input = fc.record({
    values: fc.array(value, { minLength: 1, maxLength: 40 }),
    divisors: fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 3 }),
  })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(input, async ({ values, divisors }) => {
      begun = []
      const ids = divisors.map((_, i) => `f${i}`)
      const steps = await told(await run(`run-${runs++}`, values, divisors))
      // Once for the rows, and once more for the check before they are handed out.
      expect(begun).toEqual([...ids, ...ids])
      for (const [i, { kept, details, seen }] of plain(values, divisors).entries()) {
        expect(steps[i]?.kept).toEqual(kept)
        expect(new Map(steps[i]?.rejects.map(({ id, detail }) => [id, detail]))).toEqual(details)
        expect(steps[i]?.counts).toMatchObject([{ id: ids[i], taken: seen, given: kept.length }])
        expect(JSON.parse(steps[i]?.result ?? '')).toEqual({ seen })
      }
    }),
    { numRuns: 8 },
  )
})

test('a run that stops between such filters goes on with the rows it has', async () => {
  const values = Array.from({ length: 23 }, (_, i) => i)
  await run('parts', values, [20, 3, 2], 'f0')
  // f1 drops most rows, so the others are written separately and get new numbers.
  await run('parts', values, [20, 3, 2], 'f1')
  expect(begun).toEqual(['f0', 'f1'])
  const parts = await told(await run('parts', values, [20, 3, 2]))
  expect(begun.slice(2, 3)).toEqual(['f2'])
  expect(parts).toEqual(await told(await run('whole', values, [20, 3, 2])))
})
