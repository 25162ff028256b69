import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import { definePlugin } from '../../../core/plugin.ts'
import type { RowFilter, SqlFilter, Verdict } from '../../../core/stage.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'
import { digestTokenizer, loadTokenizer } from '../../shared/rollout-text/tokenizer.ts'
import type { RecipeTrace } from '../../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  most: z.int().positive().default(32_768),
  of: z
    .enum(['conversation', 'output', 'spent'])
    .default('conversation')
    .describe(
      'The conversation as a trainer sees it, or what the whole trial used: `output`, or `spent` for input and output.',
    ),
  tokenizer: z
    .string()
    .min(1)
    .optional()
    .describe('A tokenizer.json on this machine. Without one, the length of a conversation is an estimate.'),
  perMessage: z.int().nonnegative().default(4).describe('What a chat template adds to each message.'),
})

/** Drops traces with more tokens than a model can learn from. */
export default definePlugin({
  name: 'filters/rollouts/max-tokens',
  summary: 'Drop traces with more tokens, by a real tokenizer or by what the trial used',
  options,
  make: (asked): SqlFilter | RowFilter<RecipeTrace> => {
    if (asked.of === 'conversation') return byConversation(asked)
    if (asked.tokenizer !== undefined)
      throw new UserError(
        `filters/rollouts/max-tokens: a tokenizer can count only conversations, not ${asked.of}`,
        'leave `tokenizer` or `of` out',
      )
    const used = asked.of === 'output' ? 'output_tokens' : '(input_tokens + output_tokens)'
    return {
      kind: 'sql-filter',
      takes: 'trace',
      reason: `CASE WHEN ${used} IS NULL THEN 'tokens-unknown' WHEN ${used} > ${asked.most} THEN 'too-many-tokens' END`,
    }
  },
})

function byConversation({ most, tokenizer, perMessage }: z.output<typeof options>): RowFilter<RecipeTrace> {
  let loading: Promise<(text: string) => number> | undefined
  const judge = (row: RecipeTrace, count: (text: string) => number): Verdict => {
    if (isSurelyShort(row, most, perMessage)) return true
    const tokens = textsOf(row).reduce((sum, text) => sum + count(text), row.conversations.length * perMessage)
    if (tokens <= most) return true
    const about = tokenizer === undefined ? 'about ' : ''
    return { reason: 'too-many-tokens', detail: `${about}${tokens} tokens, at most ${most}` }
  }
  return {
    kind: 'filter',
    takes: 'trace',
    // Another tokenizer at the same path makes this another filter.
    fingerprint: async () => (tokenizer === undefined ? 'estimate' : digestTokenizer(tokenizer)),
    async keep(row) {
      if (tokenizer === undefined) return judge(row, estimateTokens)
      loading ??= loadTokenizer(tokenizer)
      return judge(row, await loading)
    },
  }
}

/** No tokenizer makes many more tokens than a text has bytes, so most rows need not be counted. */
function isSurelyShort(row: RecipeTrace, most: number, perMessage: number): boolean {
  const bytes = textsOf(row).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return bytes * 1.2 + row.conversations.length * (perMessage + 2) <= most
}

/** Everything a trainer may show a model: messages, calls and tool definitions. */
function textsOf({ conversations, tool_calls, tool_definitions }: RecipeTrace): string[] {
  const calls = tool_calls.map((call) => `${call.name}${call.arguments}`)
  return [...conversations.map(({ content }) => content), ...calls, tool_definitions ?? '']
}
