import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { writeRows } from './write-rows.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

/**
 * Writes rows with texts of the given lengths; returns their ids as read back, and the number of rows in each row
 * group.
 */
async function write(lengths: readonly number[]): Promise<{ ids: number[]; groups: number[] }> {
  await using sql = await SqlDatabase.open({ memoryMb: 280, threads: 2, tempDir: join(dir, 'tmp') })
  const rows = async function* () {
    for (const [i, length] of lengths.entries())
      yield { id: String(i), source: 's', fields: { text: String(i % 10).repeat(length) } }
  }
  const file = join(dir, 'rows.parquet')
  expect(await writeRows(sql, 'raw', rows(), file)).toBe(lengths.length)
  const found = await sql.rows(`SELECT id FROM read_parquet(${sqlText(file)})`)
  const groups = await sql.rows(
    `SELECT row_group_num_rows AS rows FROM parquet_metadata(${sqlText(file)}) WHERE path_in_schema = 'id' ORDER BY row_group_id`,
  )
  return { ids: found.map(({ id }) => Number(id)), groups: groups.map(({ rows: count }) => Number(count)) }
}
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

test('long rows are written in small groups, in their order, and need not fit into memory together', async () => {
  const { ids, groups } = await write(Array(100).fill(4_000_000))
  expect(ids).toEqual(upTo(100))
  expect(groups).toEqual(Array(20).fill(5))
})

test('short rows are written in large groups', async () => {
  const { ids, groups } = await write(Array(5000).fill(10))
  expect(ids).toEqual(upTo(5000))
  expect(groups).toEqual([2048, 2048, 904])
})

test('no rows are a file without rows', async () => {
  expect(await write([])).toEqual({ ids: [], groups: [] })
})
