import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import type { SqlFilter } from '../../../core/stage.ts'

const any = (condition: string) => `len(list_filter(conversations, lambda turn, i: ${condition})) > 0`
/** Users and tools may send two messages in a row; a model replies once. */
const twice =
  "len(list_filter(list_zip(conversations[:-2], conversations[2:]), lambda pair: pair[1].role = 'assistant' AND pair[2].role = 'assistant')) > 0"
/** A call is content enough, and many tools return nothing. */
const mayBeEmpty =
  "(turn.role = 'tool' OR coalesce(list_contains(list_transform(tool_calls, lambda call: call.message), i - 1), false))"

/** Drops conversations with a turn that is empty, has an unknown role, or is out of order. */
export default definePlugin({
  name: 'filters/rollouts/no-empty-turns',
  summary: 'Drop traces with empty or malformed turns',
  options: z.strictObject({}),
  make: (): SqlFilter => ({
    kind: 'sql-filter',
    takes: 'trace',
    reason: `CASE WHEN conversations IS NULL OR len(conversations) < 2 THEN 'no-conversation'
      WHEN ${any("turn IS NULL OR turn.role IS NULL OR turn.role NOT IN ('system', 'user', 'assistant', 'tool')")} THEN 'unknown-role'
      WHEN ${any(`turn.content IS NULL OR (regexp_full_match(turn.content, '\\s*') AND NOT ${mayBeEmpty})`)} THEN 'empty-turn'
      WHEN conversations[1].role IN ('assistant', 'tool') OR ${twice} THEN 'turns-do-not-alternate' END`,
  }),
})
