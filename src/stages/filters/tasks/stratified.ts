import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'
import { makeRandom } from '../../../lib/random.ts'
import { saveChoice } from '../../shared/mixing/choice.ts'

/** Keeps at most `each` rows per stratum, drawn at random with the recipe's seed. */
export default definePlugin({
  name: 'filters/tasks/stratified',
  summary: 'Keep a seeded sample of at most `each` rows per source, pipeline or strategy',
  options: z.strictObject({
    by: z.enum(['source', 'pipeline', 'strategy']).default('source'),
    each: z.int().positive(),
  }),
  make: ({ by, each }): WholeStage => ({
    kind: 'mixer',
    takes: 'task',
    version: 1,
    choose: async ([input], { sql, seed }) => {
      const stratum = by === 'source' ? 'source' : `lineage->>'${by}'`
      const found = await sql.rows(`SELECT row, ${stratum} AS stratum FROM ${input?.view} ORDER BY row`)
      const strata = new Map<string, number[]>()
      for (const { row, stratum: name } of found) {
        const rows = strata.get(String(name)) ?? []
        rows.push(Number(row))
        strata.set(String(name), rows)
      }
      const kept = new Set<number>()
      for (const [name, rows] of strata) {
        const random = makeRandom(seed, `stratum ${name}`)
        for (const row of random.sample(rows, each)) kept.add(row)
      }
      const rows = found.map(({ row }) => Number(row))
      return saveChoice(
        sql,
        rows.map((row) => ({ row, position: row, reason: kept.has(row) ? null : 'stratum-full' })),
      )
    },
  }),
})
