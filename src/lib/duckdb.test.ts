import { mkdtempSync, rmSync } from 'node:fs'
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
  for await (const rows of sql.batches('SELECT range AS i FROM range(5000) ORDER BY i'))
    seen.push(...rows.map(({ i }) => Number(i)))
  expect(seen).toEqual(Array.from({ length: 5000 }, (_, i) => i))
})

test('a query that is left early, or that fails on the way, ends and leaves the database usable', async () => {
  await using sql = await open()
  for await (const _ of sql.batches('SELECT range AS i FROM range(100000)')) break
  const failing = async () => {
    const late = "SELECT CASE WHEN range = 90000 THEN error('too far') ELSE 1 END AS i FROM range(100000)"
    for await (const _ of sql.batches(late)) await new Promise((resolve) => setImmediate(resolve))
  }
  await expect(failing()).rejects.toThrow('too far')
  expect(await sql.number('SELECT 7')).toBe(7)
})
