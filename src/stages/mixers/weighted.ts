import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { WholeInput } from '../../core/whole-set.ts'
import { apportion, mixOf, mixOptions } from '../shared/mixing/mix.ts'

const weight = z.number().nonnegative()

/**
 * Mixes sources in proportion to weights, with caps. A temperature above 1 makes the shares more equal, below 1 less
 * equal.
 */
export default definePlugin({
  name: 'mixers/weighted',
  summary: 'Mix branches in proportion to weights, with caps and a temperature',
  options: z.strictObject({
    ...mixOptions,
    weights: z
      .record(z.string(), weight)
      .default({})
      .describe('By the id of the stage a branch ends in. Default: how many rows it has.'),
    caps: z.record(z.string(), z.int().nonnegative()).default({}),
    temperature: z.number().positive().default(1),
  }),
  make: ({ total, weights, caps, temperature, upsample, order }) => {
    if (total === undefined && (temperature !== 1 || Object.keys(weights).length > 0))
      throw new UserError(
        'mixers/weighted: expected total with weights or temperature, got none; without it all rows are used',
        'set total, or remove weights and temperature',
      )
    return mixOf({
      total,
      upsample,
      order,
      shares: (inputs) => {
        refuseUnknown(inputs, { ...weights, ...caps })
        const most = inputs.map(({ stage, rows }) => caps[stage] ?? (upsample && total ? total : rows))
        const capped = inputs.map(({ rows }, i) => Math.min(most[i] ?? 0, upsample && rows > 0 ? Infinity : rows))
        const raw = inputs.map(({ stage, rows }) => (weights[stage] ?? rows) ** (1 / temperature))
        return apportion(total ?? capped.reduce((a, b) => a + b, 0), raw, capped)
      },
    })
  },
})

function refuseUnknown(inputs: readonly WholeInput[], named: Readonly<Record<string, unknown>>): void {
  const known = inputs.map(({ stage }) => stage)
  const unknown = Object.keys(named).find((stage) => !known.includes(stage))
  if (unknown !== undefined)
    throw new UserError(
      `mixers/weighted: no branch ends in ${JSON.stringify(unknown)}`,
      `branches above it: ${known.join(', ')}`,
    )
}
