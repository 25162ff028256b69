import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import { apportion, mixOf, mixOptions } from '../shared/mixing/mix.ts'

/** Mixes the best k of several sources in equal shares: `total` / k rows each. */
export default definePlugin({
  name: 'mixers/top-k',
  summary: 'Mix the best k branches of a ranking in equal shares',
  options: z.strictObject({
    ...mixOptions,
    k: z.int().positive(),
    ranking: z.array(z.string()).min(1).describe('Ids of the stages the branches end in, best first.'),
  }),
  make: ({ k, ranking, total, upsample, order }) =>
    mixOf({
      total,
      upsample,
      order,
      shares: (inputs) => {
        const missing = ranking.slice(0, k).find((name) => !inputs.some(({ stage }) => stage === name))
        if (missing !== undefined || ranking.length < k)
          throw new UserError(
            missing === undefined
              ? `mixers/top-k: expected a ranking of at least k = ${k} branches, got ${ranking.length}`
              : `mixers/top-k: no branch ends in ${JSON.stringify(missing)}, which the ranking names`,
            `branches above it: ${inputs.map(({ stage }) => stage).join(', ')}`,
          )
        const best = new Set(ranking.slice(0, k))
        const caps = inputs.map(({ stage, rows }) => (!best.has(stage) ? 0 : upsample && rows > 0 ? Infinity : rows))
        const all = inputs.reduce((sum, { stage, rows }) => sum + (best.has(stage) ? rows : 0), 0)
        return apportion(
          total ?? all,
          inputs.map(({ stage }) => (best.has(stage) ? 1 : 0)),
          caps,
        )
      },
    }),
})
