import type { ChatMessage } from '../../../core/model.ts'

/** How a request goes on from a conversation: where what is new in it begins, and whether the last reply is asked for again. */
export interface Continuation {
  /** Index into the request's messages. */
  readonly newFrom: number
  readonly again: boolean
}

/** Looks whether a request goes on from a known conversation. System messages before what is new may differ: some carry the time. */
export function continuationOf(known: readonly ChatMessage[], messages: readonly ChatMessage[]): Continuation | null {
  const spoken = spokenIn(messages)
  const common = commonLength(known, messages)
  if (known.length === 0) return null
  if (common === known.length) return { newFrom: indexAfter(messages, common), again: false }
  const lost = common === known.length - 1 && known.at(-1)?.role === 'assistant' && spoken.length === common
  return lost && common > 0 ? { newFrom: messages.length, again: true } : null
}

/** What was said by anybody but the system; a reply without a word or a call leaves no mark. */
export function spokenIn(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.filter(isSpoken)
}

/** How many spoken messages a conversation and a request have in common, from the start. */
export function commonLength(known: readonly ChatMessage[], messages: readonly ChatMessage[]): number {
  const spoken = spokenIn(messages)
  const differs = known.findIndex((message, i) => {
    const other = spoken[i]
    return other === undefined || !isSame(message, other)
  })
  return differs < 0 ? known.length : differs
}

/** Where a request's messages stand after a number of spoken ones. */
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

/** Agents hand a reply back in their own shape: ids, spaces and words beside a call may change on the way. */
export function isSame(a: ChatMessage, b: ChatMessage): boolean {
  if (a.role !== b.role) return false
  if (a.role !== 'assistant') return a.content === b.content
  const [calls, others] = [a.toolCalls ?? [], b.toolCalls ?? []]
  if (calls.length !== others.length) return false
  if (calls.length === 0) return a.content.trim() === b.content.trim()
  return calls.every((call, i) => call.name === others[i]?.name)
}
