import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { SqlDatabase, sqlName, sqlText } from './duckdb.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
afterAll(() => rmSync(dir, { recursive: true }))
const open = () => SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: dir })
const columns = { id: 'VARCHAR', bytes: 'BLOB', talk: 'STRUCT("role" VARCHAR, "content" VARCHAR)[]', n: 'DOUBLE' }

test('rows of any text, bytes and nested lists come back from parquet as they were', async () => {
  const message = fc.record({ role: fc.string({ unit: 'grapheme' }), content: fc.string({ unit: 'binary' }) })
  const row = fc.tuple(fc.string(), fc.uint8Array(), fc.array(message), fc.option(fc.double({ noNaN: true })))
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 8 }), async (rows) => {
      await using sql = await open()
      await sql.fill('t', columns, rows)
      const file = join(dir, 'x.parquet')
      await sql.run(`COPY t TO ${sqlText(file)} (FORMAT parquet, COMPRESSION zstd)`)
      const back = await sql.rows(`SELECT * FROM read_parquet(${sqlText(file)})`)
      expect(back.map(({ id, bytes, talk, n }) => [id, new Uint8Array(bytes as Buffer), talk, n])).toEqual(
        rows.map(([id, bytes, talk, n]) => [id, bytes, talk, n]),
      )
    }),
    { numRuns: 25 },
  )
})

test('text and names are quoted, whatever they hold', async () => {
  await using sql = await open()
  const [row] = await sql.rows(`SELECT ${sqlText("it's")} AS ${sqlName('a "name"')}`)
  expect(row).toEqual({ 'a "name"': "it's" })
})

test('batches give every row in order', async () => {
  await using sql = await open()
  const seen: unknown[] = []
  for await (const rows of sql.batches('SELECT range AS i FROM range(5000) ORDER BY i', 5000))
    for (const { i } of rows) seen.push(Number(i))
  expect(seen).toEqual(Array.from({ length: 5000 }, (_, i) => i))
})

test('a row of a batch is complete even when it is read after the batch', async () => {
  await using sql = await open()
  const seen: object[] = []
  const query =
    "SELECT range::INTEGER AS i, encode(repeat('x', range % 40)) AS bytes, [range::VARCHAR] AS list FROM range(6000)"
  for await (const rows of sql.batches(query, 6000)) seen.push(...rows)
  for (const i of [0, 7, 12, 13, 3000, 5999])
    expect(seen[i]).toEqual({ i, bytes: Buffer.from('x'.repeat(i % 40)), list: [String(i)] })
})

test('a query that is left early, or that fails after some rows, ends and leaves the database usable', async () => {
  await using sql = await open()
  for await (const _ of sql.batches('SELECT range AS i FROM range(100000)', 100000)) break
  const drain = async (query: string) => {
    for await (const _ of sql.batches(query, 100000)) await new Promise((resolve) => setImmediate(resolve))
  }
  const late = "SELECT CASE WHEN range = 90000 THEN error('too far') ELSE 1 END AS i FROM range(100000)"
  await expect(drain(late)).rejects.toThrow('too far')
  await expect(drain('SELECT 1 FROM range(90000)')).rejects.toThrow('expected 100000 rows, the database returned 90000')
  expect(await sql.number('SELECT 7')).toBe(7)
})

test('databases with the same place for what does not fit into memory keep out of each other’s way', async () => {
  const small = () => SqlDatabase.open({ memoryMb: 48, threads: 1, tempDir: join(dir, 'shared') })
  await using one = await small()
  await using other = await small()
  const place = (sql: SqlDatabase) => sql.rows("SELECT current_setting('temp_directory') AS place")
  expect(await place(one)).not.toEqual(await place(other))
  const fill = (sql: SqlDatabase, sign: string) =>
    sql.run(
      `CREATE TABLE t AS SELECT range AS i, repeat('${sign}', 20) || md5(range::VARCHAR) AS text FROM range(1000000)`,
    )
  await Promise.all([fill(one, 'a'), fill(other, 'b')])
  expect(readdirSync(dir).filter((name) => name.startsWith('shared-'))).toHaveLength(2)
  const signs = (sql: SqlDatabase) => sql.rows('SELECT min(text[1]) AS least, max(text[1]) AS most FROM t')
  expect(await signs(one)).toEqual([{ least: 'a', most: 'a' }])
  expect(await signs(other)).toEqual([{ least: 'b', most: 'b' }])
})
