import type { ChatMessage } from '../../../core/model.ts'

/** How a request continues a conversation: where its new part begins, and whether it requests the last reply again. */
export interface Continuation {
  /** Index into the request's messages. */
  readonly newFrom: number
  readonly again: boolean
}

/**
 * Checks whether a request continues a known conversation. System messages before the new part may differ, because some
 * contain the time.
 */
export function continuationOf(known: readonly ChatMessage[], messages: readonly ChatMessage[]): Continuation | null {
  const spoken = spokenIn(messages)
  const common = commonLength(known, messages)
  if (known.length === 0) return null
  if (common === known.length) return { newFrom: indexAfter(messages, common), again: false }
  const lost = common === known.length - 1 && known.at(-1)?.role === 'assistant' && spoken.length === common
  return lost && common > 0 ? { newFrom: messages.length, again: true } : null
}

/** All messages except system messages; a reply without text or tool calls leaves no trace. */
export function spokenIn(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.filter(isSpoken)
}

/** How many leading non-system messages a conversation and a request have in common. */
export function commonLength(known: readonly ChatMessage[], messages: readonly ChatMessage[]): number {
  const spoken = spokenIn(messages)
  const differs = known.findIndex((message, i) => {
    const other = spoken[i]
    return other === undefined || !isSame(message, other)
  })
  return differs < 0 ? known.length : differs
}

/** The index in a request's messages after a number of non-system ones. */
export function indexAfter(messages: readonly ChatMessage[], spoken: number): number {
  let seen = 0
  for (const [i, message] of messages.entries()) {
    if (seen === spoken) return i
    if (isSpoken(message)) seen++
  }
  return messages.length
}

function isSpoken({ role, content, toolCalls = [] }: ChatMessage): boolean {
  return role !== 'system' && (role !== 'assistant' || content.trim() !== '' || toolCalls.length > 0)
}

/**
 * Compares messages loosely, because agents send a reply back in their own form: ids, spaces and text next to a call
 * may change.
 */
export function isSame(a: ChatMessage, b: ChatMessage): boolean {
  if (a.role !== b.role) return false
  if (a.role !== 'assistant') return a.content === b.content
  const [calls, others] = [a.toolCalls ?? [], b.toolCalls ?? []]
  if (calls.length !== others.length) return false
  if (calls.length === 0) return a.content.trim() === b.content.trim()
  return calls.every((call, i) => call.name === others[i]?.name)
}
