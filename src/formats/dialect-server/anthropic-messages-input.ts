import { z } from 'zod'
import type { ChatMessage, ToolCall } from '../../core/model.ts'
import { contentSchema, jsonText, Refused, textOf } from './read-request.ts'

const blockSchema = z.looseObject({ type: z.string() })
type Block = z.output<typeof blockSchema>

export const systemSchema = contentSchema
export const turnSchema = z.object({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(blockSchema)]),
})
type Turn = z.output<typeof turnSchema>

/** The conversation: results of tools become messages of their own, before what the user says beside them. */
export function readTurns(turns: readonly Turn[]): ChatMessage[] {
  return turns.flatMap((turn, i) => {
    const where = `messages.${i}`
    if (typeof turn.content === 'string') return [{ role: turn.role, content: turn.content }]
    return turn.role === 'assistant' ? [readSpoken(turn.content, where)] : readHeard(turn.role, turn.content, where)
  })
}

function readSpoken(blocks: readonly Block[], where: string): ChatMessage {
  const thoughts = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
  const calls = blocks.filter(({ type }) => type === 'tool_use').map((block) => readCall(block, where))
  const words = blocks.filter((block) => !thoughts.includes(block) && block.type !== 'tool_use')
  const reasoning = thoughts.map(({ thinking }) => (typeof thinking === 'string' ? thinking : '')).join('')
  return {
    role: 'assistant',
    content: textOf(words, where),
    ...(reasoning !== '' && { reasoning }),
    ...(thoughts.length > 0 && { reasoningBlocks: thoughts.map(unmarked) }),
    ...(calls.length > 0 && { toolCalls: calls }),
  }
}

const callSchema = z.object({ id: z.string(), name: z.string(), input: z.unknown().optional() })

function readCall(block: Block, where: string): ToolCall {
  const call = callSchema.safeParse(block)
  if (!call.success) throw new Refused(`${where}: expected a tool_use with id, name and input`, where)
  return { id: call.data.id, name: call.data.name, arguments: jsonText(call.data.input) }
}

const resultSchema = z.object({ tool_use_id: z.string(), content: contentSchema })

function readHeard(role: 'user' | 'system', blocks: readonly Block[], where: string): ChatMessage[] {
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const words = blocks.filter(({ type }) => type !== 'tool_result')
  return [
    ...results.map((block): ChatMessage => {
      const result = resultSchema.safeParse(block)
      if (!result.success) throw new Refused(`${where}: expected a tool_result with tool_use_id`, where)
      return { role: 'tool', content: textOf(result.data.content, where), toolCallId: result.data.tool_use_id }
    }),
    ...(words.length > 0 ? [{ role, content: textOf(words, where) }] : []),
  ]
}

/** A mark for the cache is the caller's own, and no part of what was thought. */
function unmarked({ cache_control: _, ...block }: Block): Readonly<Record<string, unknown>> {
  return block
}
