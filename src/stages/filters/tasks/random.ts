import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { WholeStage } from '../../../core/stage.ts'
import { makeRandom } from '../../../lib/random.ts'
import { saveVerdicts } from '../../similarity/texts.ts'

/** Keeps a seeded random sample: the baseline every other filter is measured against. */
export default definePlugin({
  name: 'filters/tasks/random',
  summary: 'Keep a seeded random sample',
  options: z.strictObject({ keep: z.int().positive() }),
  make: ({ keep }): WholeStage => ({
    takes: 'task',
    version: 1,
    expect: (taken: number | null) => ({ rows: taken === null ? keep : Math.min(keep, taken) }),
    choose: async ([input], { sql, seed }) => {
      const rows = Array.from({ length: input?.rows ?? 0 }, (_, row) => row)
      const kept = new Set(makeRandom(seed, 'random filter').sample(rows, keep))
      return saveVerdicts(
        sql,
        rows.map((row) => ({ row, reason: kept.has(row) ? null : 'not-in-sample' })),
      )
    },
  }),
})
