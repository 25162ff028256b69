import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

const options = z.strictObject({
  least: z.number().default(1),
  unverified: z
    .enum(['drop', 'keep'])
    .default('drop')
    .describe('What to do with a trace that was not verified: no reward is not a reward of 0.'),
})

/** Drops traces whose reward is below a floor. */
export default definePlugin({
  name: 'filters/rollouts/min-reward',
  summary: 'Drop traces whose reward is below a floor',
  options,
  make: ({ least, unverified }): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE ${unverified === 'drop' ? "WHEN reward IS NULL THEN 'no-reward' " : ''}WHEN reward < ${least} OR isnan(reward) THEN 'reward-too-low' END`,
  }),
})
