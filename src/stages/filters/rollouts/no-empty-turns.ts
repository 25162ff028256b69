import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

const any = (condition: string) => `len(list_filter(conversations, lambda turn: ${condition})) > 0`
/** Of a pair of neighbours, whether both are of the same side. */
const twice =
  'len(list_filter(list_zip(conversations[:-2], conversations[2:]), lambda pair: pair[1].role = pair[2].role)) > 0'

/** Drops conversations with a turn that says nothing, of nobody known, or out of turn. */
export default definePlugin({
  name: 'filters/rollouts/no-empty-turns',
  summary: 'Drop traces with empty or malformed turns',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    takes: 'trace',
    reason: `CASE WHEN conversations IS NULL OR len(conversations) < 2 THEN 'no-conversation'
      WHEN ${any("turn IS NULL OR turn.role IS NULL OR turn.role NOT IN ('system', 'user', 'assistant')")} THEN 'unknown-role'
      WHEN ${any("turn.content IS NULL OR regexp_full_match(turn.content, '\\s*')")} THEN 'empty-turn'
      WHEN conversations[1].role = 'assistant' OR ${twice} THEN 'turns-do-not-alternate' END`,
  }),
})
