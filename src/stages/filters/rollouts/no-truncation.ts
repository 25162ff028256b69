import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

/**
 * Drops traces that end prematurely: the agent hit a limit on turns, context, money or disk space, or the last message
 * is not its own.
 */
export default definePlugin({
  name: 'filters/rollouts/no-truncation',
  summary: 'Drop traces cut off by a limit of turns, context, cost or disk space, or that do not end with the agent',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN exit IN ('turns', 'context', 'cost', 'storage') THEN 'limit-of-' || exit
      WHEN result = 'ContextLengthExceededError' THEN 'limit-of-context'
      WHEN conversations[-1].role IS DISTINCT FROM 'assistant' THEN 'ends-without-answer' END`,
  }),
})
