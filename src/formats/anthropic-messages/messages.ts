import type { ChatMessage } from '../../core/model.ts'
import { readJson } from '../../lib/parse-json.ts'

type Block = Record<string, unknown> & { readonly type: string }

/** All system messages, which this API keeps separate from the conversation. */
export function systemText(messages: readonly ChatMessage[]): string {
  return messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => content)
    .join('\n\n')
}

/** How many of the last messages mark the end of a cacheable prefix; the API allows four marks. */
const cacheMarks = 3

/**
 * The conversation as turns of content blocks. The last turns carry cache marks, which are not part of the cached
 * content.
 */
export function renderMessages(messages: readonly ChatMessage[]): { role: 'user' | 'assistant'; content: Block[] }[] {
  const turns: { role: 'user' | 'assistant'; content: Block[] }[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(message)
    const last = turns.at(-1)
    // Results of several tools belong in one turn.
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) turns.push({ role, content: blocks })
  }
  for (const { content } of turns.slice(-cacheMarks)) {
    const block = content.at(-1)
    if (block && block.type !== 'thinking' && block.type !== 'redacted_thinking') {
      content[content.length - 1] = { ...block, cache_control: { type: 'ephemeral' } }
    }
  }
  return turns
}

function blocksOf({ role, content, toolCallId, toolCalls = [], reasoningBlocks = [] }: ChatMessage): Block[] {
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id: toolCallId, content }]
  // The API refuses empty text.
  const text: Block[] = content === '' ? [] : [{ type: 'text', text: content }]
  const calls = toolCalls.map(
    (call): Block => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call.arguments) }),
  )
  const thoughts = reasoningBlocks.map((block): Block => ({ ...block, type: String(block.type) }))
  return [...thoughts, ...text, ...calls]
}

function inputOf(text: string): object {
  try {
    const value: unknown = readJson(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Not JSON: pass it on unchanged.
  }
  return { text }
}
