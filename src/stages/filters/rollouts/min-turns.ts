import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

/** Drops traces in which the agent took few turns. */
export default definePlugin({
  name: 'filters/rollouts/min-turns',
  summary: 'Drop traces with fewer turns of the agent',
  options: z.strictObject({ least: z.int().positive().default(5) }),
  make: ({ least }): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN turns IS NULL OR turns < ${least} THEN 'too-few-turns' END`,
  }),
})
