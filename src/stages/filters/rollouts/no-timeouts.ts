import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

/** Drops traces of agents that ran out of time, whatever their score. */
export default definePlugin({
  name: 'filters/rollouts/no-timeouts',
  summary: 'Drop traces of agents that ran out of time',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN exit = 'time' OR result LIKE '%TimeoutError' THEN 'timeout' END`,
  }),
})
