import type { ChatMessage, ToolCall, ToolDefinition } from '../../core/model.ts'
import { canonicalJson } from '../../lib/digest-json.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { differenceOf } from './compare-text.ts'

/** When each side of a comparison was made. */
export interface Times {
  /** Null when unknown. */
  readonly recorded: Date | null
  readonly received: Date | null
}

/** Where a request differs from the recorded one. */
export interface MessageDifference {
  /** Counts from 1; null for the tools, or when there are more or fewer messages. */
  readonly message: number | null
  readonly what: string
  readonly expected: string
  readonly got: string
}

/** The first real difference between the messages of a recorded request and of a received one. */
export function compareMessages(
  recorded: readonly ChatMessage[],
  received: readonly ChatMessage[],
  times: Times,
): MessageDifference | null {
  const calls = new CallNames()
  for (let i = 0; i < Math.min(recorded.length, received.length); i++) {
    const [a, b] = [recorded[i], received[i]]
    const found = a && b && compareOne(a, b, times, calls)
    if (found) return { message: i + 1, ...found }
  }
  if (recorded.length === received.length) return null
  const rest = (messages: readonly ChatMessage[]) => excerpt(messages[Math.min(recorded.length, received.length)])
  const what = `expected ${recorded.length} messages, got ${received.length}`
  return { message: null, what, expected: rest(recorded), got: rest(received) }
}

/** Whether the tools of two requests differ. */
export function compareTools(
  recorded: readonly ToolDefinition[],
  received: readonly ToolDefinition[],
  times: Times,
): MessageDifference | null {
  const found = differ(oneSpelling(recorded, ''), oneSpelling(received, ''), times)
  return found && { message: null, what: 'the tool definitions differ', ...found }
}

/** How many messages at the beginning are the same. */
export function sharedMessages(
  recorded: readonly ChatMessage[],
  received: readonly ChatMessage[],
  times: Times,
): number {
  const calls = new CallNames()
  const differs = recorded.findIndex((message, i) => {
    const other = received[i]
    return other === undefined || compareOne(message, other, times, calls) !== null
  })
  return differs < 0 ? recorded.length : differs
}

type Found = Omit<MessageDifference, 'message'>

function compareOne(a: ChatMessage, b: ChatMessage, times: Times, calls: CallNames): Found | null {
  if (a === b) return null
  if (a.role !== b.role)
    return { what: `expected a message of role ${a.role}, got ${b.role}`, expected: excerpt(a), got: excerpt(b) }
  if (a.role === 'assistant') return compareReply(a, b, times, calls)
  if (!calls.areSame(a.toolCallId, b.toolCallId))
    return { what: 'the result belongs to another call', expected: a.toolCallId ?? 'none', got: b.toolCallId ?? 'none' }
  const found = differ(a.content, b.content, times)
  return found && { what: `the ${a.role} message differs`, ...found }
}

/**
 * Compares a reply that was sent back. Agents reshape replies: they drop reasoning, trim, and leave out text next to a
 * call. What they did because of a reply shows in the messages that follow.
 */
function compareReply(a: ChatMessage, b: ChatMessage, times: Times, calls: CallNames): Found | null {
  const [before, now] = [a.toolCalls ?? [], b.toolCalls ?? []]
  const [said, saidNow] = [a.content.trim(), b.content.trim()]
  const isLeftOut = before.length > 0 && (said === '' || saidNow === '')
  const text = isLeftOut ? null : differ(said, saidNow, times)
  if (text) return { what: 'the reply was handed back with other words', ...text }
  const found = differ(callsText(before), callsText(now), times)
  if (found) return { what: 'the reply was handed back with other tool calls', ...found }
  before.forEach(({ id }, i) => void calls.areSame(id, now[i]?.id))
  return null
}

function callsText(calls: readonly ToolCall[]): string {
  return calls.map(({ name, arguments: text }) => `${name} ${argumentsText(text)}`).join('\n')
}

/** Agents re-serialize the JSON of a call. */
function argumentsText(text: string): string {
  const value = parseJson(text)
  return value === undefined ? text.trim() : oneSpelling(value, text)
}

/** JSON that is nested too deeply for us is compared as it came. */
function oneSpelling(value: unknown, text: string): string {
  try {
    return canonicalJson(value)
  } catch (error) {
    if (error instanceof RangeError) return text
    throw error
  }
}

/** Maps ids of calls: an agent may choose new ones as long as every result belongs to its call. */
class CallNames {
  private readonly names = new Map<string, string>()

  areSame(recorded: string | undefined, received: string | undefined): boolean {
    if (recorded === undefined || received === undefined) return recorded === received
    const known = this.names.get(recorded)
    if (known === undefined) this.names.set(recorded, received)
    return known === undefined || known === received
  }
}

function differ(expected: string, got: string, { recorded, received }: Times) {
  return differenceOf({ text: expected, at: recorded }, { text: got, at: received })
}

function excerpt(message: ChatMessage | undefined): string {
  if (message === undefined) return 'nothing'
  const text = message.content || callsText(message.toolCalls ?? [])
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}
