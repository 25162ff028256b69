import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

/** Drops the conversations of subagents, including summaries; the main agent's stay. */
export default definePlugin({
  name: 'filters/rollouts/no-subagents',
  summary: 'Drop traces of subagents and summaries',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN trace_source IS DISTINCT FROM 'main' THEN 'subagent' END`,
  }),
})
