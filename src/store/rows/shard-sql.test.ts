import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { selectAllNumbered, selectAllRows, selectNumbered, selectRows } from './shard-sql.ts'

let dir: string
let sql: SqlDatabase
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
  sql = await SqlDatabase.open({ memoryMb: 200, threads: 2, tempDir: join(dir, 'tmp') })
})
afterAll(async () => {
  await sql[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true })
})

/** Shards of 1 to 19 rows; two out of three keep only some rows, and some keep none. */
async function makeShards(count: number) {
  const shards: { part: string; kept: string | null; rows: number }[] = []
  for (let i = 0; i < count; i++) {
    const [part, length] = [join(dir, `it's-${i}.parquet`), (i % 19) + 1]
    await sql.run(
      `COPY (SELECT ${i} AS file, n::INTEGER AS n FROM range(${length}) t(n)) TO '${part.replaceAll("'", "''")}'`,
    )
    const bits = Array.from({ length }, (_, n) => ((i * 7 + n * n) % 3 === 0 ? '1' : '0')).join('')
    const kept = i % 3 === 0 ? null : bits
    shards.push({ part, kept, rows: kept === null ? length : bits.replaceAll('0', '').length })
  }
  return shards
}

test('many shards are the same rows in the same order as one after the other, and few scans', async () => {
  const shards = await makeShards(230)
  const numbered = shards.map((shard, i) => ({ shard, first: i * 100 }))
  const apart = []
  for (const shard of shards) apart.push(...(await sql.rows(selectRows(shard))))
  expect(await sql.rows(selectAllRows(shards))).toEqual(apart)
  const numbers = []
  for (const { shard, first } of numbered) numbers.push(...(await sql.rows(selectNumbered(shard, first))))
  expect(await sql.rows(selectAllNumbered(numbered))).toEqual(numbers)
  // A scan holds a file open from the start, and some machines allow only a thousand.
  expect(selectAllNumbered(numbered).split('read_parquet(')).toHaveLength(4)
})

test('shards of which all rows are kept are read without looking at each', async () => {
  const shards = (await makeShards(3)).map((shard) => ({ ...shard, kept: null }))
  expect(selectAllRows(shards)).not.toContain('get_bit')
  expect(await sql.rows(selectAllRows(shards))).toHaveLength(6)
  expect(selectAllRows(shards.slice(0, 1))).toBe(selectRows(shards[0]!))
})
