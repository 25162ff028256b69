import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'
import type { SqlSession } from '../../../core/whole-set.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'
import { makeRandom } from '../../../lib/random.ts'
import { rowNumbers, saveChoice } from '../../shared/mixing/choice.ts'

const options = z
  .strictObject({
    keep: z.int().positive().optional().describe('How many traces.'),
    tokens: z
      .int()
      .positive()
      .optional()
      .describe('How many tokens in all, by an estimate over what was said and called; the last trace still fits.'),
  })
  .refine(({ keep, tokens }) => (keep === undefined) !== (tokens === undefined), 'expected one of keep and tokens')

/** Keeps a seeded random sample: a baseline for other filters, with the same number of traces or tokens. */
export default definePlugin({
  name: 'filters/rollouts/random',
  summary: 'Keep a seeded random sample, by traces or by tokens',
  options,
  make: ({ keep, tokens }): WholeStage => ({
    kind: 'mixer',
    takes: 'trace',
    version: 1,
    expect: (taken: number | null) => ({ rows: keep === undefined || taken === null ? taken : Math.min(keep, taken) }),
    choose: async ([input], { sql, seed }) => {
      const view = input?.view ?? ''
      const rows = await rowNumbers(sql, view)
      const shuffled = makeRandom(seed, 'random filter of traces').shuffle(rows)
      const kept = new Set(
        tokens === undefined ? shuffled.slice(0, keep) : withinTokens(shuffled, await tokensOf(sql, view), tokens),
      )
      return saveChoice(
        sql,
        rows.map((row) => ({ row, position: row, reason: kept.has(row) ? null : 'not-in-sample' })),
      )
    },
  }),
})

/** As many of the first rows as fit within the token limit. */
function withinTokens(rows: readonly number[], tokens: ReadonlyMap<number, number>, most: number): number[] {
  let sum = 0
  const end = rows.findIndex((row) => {
    sum += tokens.get(row) ?? 0
    return sum > most
  })
  return end < 0 ? [...rows] : rows.slice(0, end)
}

/** How many traces' texts are in memory at once. */
const pageRows = 256

const said = 'array_to_string(list_transform(conversations, x -> x.content), chr(10))'
const called = "array_to_string(list_transform(tool_calls, x -> x.name || coalesce(x.arguments, '')), chr(10))"

async function tokensOf(sql: SqlSession, view: string): Promise<ReadonlyMap<number, number>> {
  const tokens = new Map<number, number>()
  for (let after = -1; ; ) {
    const page = await sql.rows(
      `SELECT row, concat_ws(chr(10), ${said}, nullif(${called}, ''), tool_definitions) AS text FROM ${view} WHERE row > ${after} ORDER BY row LIMIT ${pageRows}`,
    )
    for (const { row, text } of page) tokens.set(Number(row), estimateTokens(String(text ?? '')))
    const last = page.at(-1)
    if (!last) return tokens
    after = Number(last.row)
  }
}
