import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { someTrace } from '../../../../test/recipe-traces.ts'
import type { StageContext, WholeStage } from '../../../core/stage.ts'
import { SqlDatabase } from '../../../lib/duckdb.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'
import { makeAnyStage } from '../../../plugins/make-stage.ts'
import { encodeRow, rowColumns } from '../../../store/rows/columns.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
const sql = await SqlDatabase.open({ memoryMb: 128, threads: 1, tempDir: dir })
afterAll(async () => {
  await sql[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true })
})

/** More than one page of traces; every third calls a tool, and the call's text counts too. */
const traces = Array.from({ length: 300 }, (_, i) => {
  const said = [
    { role: 'user', content: 'do it' },
    { role: 'assistant', content: 'word '.repeat(20 + i) },
  ]
  const call = { message: 1, id: 'c', name: 'bash', arguments: 'ls '.repeat(50) }
  return someTrace({ id: `t${i}`, conversations: said, tool_calls: i % 3 === 0 ? [call] : [] })
})
const tokensOf = (row: number) => {
  const { conversations, tool_calls } = traces[row] ?? someTrace()
  const calls = tool_calls.map(({ name, arguments: given }) => `${name}${given}`)
  return estimateTokens([...conversations.map(({ content }) => content), ...calls].join('\n'))
}

beforeAll(async () => {
  await sql.fill(
    'traces',
    rowColumns.trace,
    traces.map((trace) => encodeRow('trace', trace)),
  )
  await sql.run('CREATE VIEW input AS SELECT row_number() OVER () - 1 AS row, * FROM traces')
})

async function kept(options: object, seed = 1): Promise<number[]> {
  const { choose } = (await makeAnyStage('filters/rollouts/random', { ...options })) as WholeStage
  const table = await choose(
    [{ view: 'input' }] as never,
    { sql, seed } as unknown as StageContext & { sql: typeof sql },
  )
  return (await sql.rows(`SELECT row FROM ${table} WHERE reason IS NULL ORDER BY row`)).map(({ row }) => Number(row))
}

test('a sample has the number of traces asked for, the same each time and others for another seed', async () => {
  const first = await kept({ keep: 40 })
  expect(first).toHaveLength(40)
  expect(await kept({ keep: 40 })).toEqual(first)
  expect(await kept({ keep: 40 }, 2)).not.toEqual(first)
  expect(await kept({ keep: 4000 })).toHaveLength(traces.length)
})

test('a sample by tokens comes as near to the number as the next trace allows, and never above it', async () => {
  const all = traces.reduce((sum, _, row) => sum + tokensOf(row), 0)
  const most = Math.floor(all / 3)
  const rows = await kept({ tokens: most })
  const sum = rows.reduce((total, row) => total + tokensOf(row), 0)
  expect(sum).toBeLessThanOrEqual(most)
  expect(sum).toBeGreaterThan(most - Math.max(...traces.map((_, row) => tokensOf(row))))
  // Not only the short ones: a third of the tokens is about a third of the traces.
  expect(rows.length).toBeGreaterThan(70)
  expect(rows.length).toBeLessThan(130)
  expect(await kept({ tokens: all })).toHaveLength(traces.length)
})

test.each([{}, { keep: 1, tokens: 1 }])('%j is refused', async (options) => {
  await expect(makeAnyStage('filters/rollouts/random', options)).rejects.toThrow('expected one of keep and tokens')
})
