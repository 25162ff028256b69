import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import { apportion, mixOf, mixOptions } from '../shared/mixing/mix.ts'

const { total, upsample } = mixOptions

/** Takes one row of each source in turn, in equal shares. */
export default definePlugin({
  name: 'mixers/round-robin',
  summary: 'Take one row of each branch in turn',
  options: z.strictObject({ total, upsample }),
  make: (options) =>
    mixOf({
      total: options.total,
      upsample: options.upsample,
      order: 'round-robin',
      shares: (inputs) => {
        const caps = inputs.map(({ rows }) => (options.upsample && options.total && rows > 0 ? Infinity : rows))
        const all = inputs.reduce((sum, { rows }) => sum + rows, 0)
        return apportion(
          options.total ?? all,
          inputs.map(() => 1),
          caps,
        )
      },
    }),
})
