import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'
import { makeRandom } from '../../../lib/random.ts'
import { rowNumbers, saveChoice } from '../../shared/mixing/choice.ts'

/** Keeps a seeded random sample: the baseline for every other filter. */
export default definePlugin({
  name: 'filters/tasks/random',
  summary: 'Keep a seeded random sample',
  options: z.strictObject({ keep: z.int().positive() }),
  make: ({ keep }): WholeStage => ({
    kind: 'mixer',
    takes: 'task',
    version: 1,
    expect: (taken: number | null) => ({ rows: taken === null ? keep : Math.min(keep, taken) }),
    choose: async ([input], { sql, seed }) => {
      const rows = await rowNumbers(sql, input?.view ?? '')
      const kept = new Set(makeRandom(seed, 'random filter').sample(rows, keep))
      return saveChoice(
        sql,
        rows.map((row) => ({ row, position: row, reason: kept.has(row) ? null : 'not-in-sample' })),
      )
    },
  }),
})
