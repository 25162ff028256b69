import type { ChatMessage, ToolDefinition } from '../../core/model.ts'
import { messageOfReply } from '../exchanges/exchange.ts'
import type { Exchange, Exchanges, SentMessage, Thread } from '../exchanges/read-exchanges.ts'

/** One message of a conversation, exactly as sent or replied. */
export interface ExactTurn {
  readonly message: ChatMessage
  /** True for a reply that the model gave in this conversation. */
  readonly own: boolean
  /** Reasons not to train on it; usually empty. */
  readonly marks: readonly string[]
}

/** A conversation up to one of the model's replies. */
export interface ExactConversation {
  /** `main`, or the purpose of other calls. */
  readonly source: string
  readonly turns: readonly ExactTurn[]
  readonly tools: readonly ToolDefinition[]
  /** The model's replies so far, over all conversations of this source. */
  readonly count: number
}

/** The conversations of a trial: one for each thread, or with `all` one for each reply. */
export function* conversationsOf(
  { threads }: Exchanges,
  episodes: 'all' | 'last',
): Generator<ExactConversation, void, void> {
  const counts = new Map<string, number>()
  const lastMain = threads.findLast(({ conversation }) => conversation === 'main')
  for (const thread of threads) {
    const { conversation: source, calls } = thread
    const before = counts.get(source) ?? 0
    // After a hand-off, what follows the context's last reply is in another row.
    const handsOff = source === 'main' && thread !== lastMain
    for (const [i, call] of calls.entries()) {
      const isLast = i === calls.length - 1
      if (!isLast && episodes === 'last') continue
      const turns = turnsOf(thread, call, isLast && handsOff)
      yield { source, turns, tools: call.tools, count: before + turns.filter(({ own }) => own).length }
    }
    counts.set(source, before + ownIn(thread))
  }
}

/** How many replies a thread's last conversation contains; discarded replies are in none. */
function ownIn({ calls }: Thread): number {
  return 1 + (calls.at(-1)?.sent.filter(({ call }) => call !== null).length ?? 0)
}

function turnsOf({ calls }: Thread, last: Exchange, handsOff: boolean): ExactTurn[] {
  const heard = new Map(calls.map((call) => [call.call, call]))
  const turns = last.sent.map((sent): ExactTurn => {
    const of = sent.call === null ? undefined : heard.get(sent.call)
    if (of) return { message: asReplied(of, sent), own: true, marks: of.marks }
    return { message: sent.message, own: false, marks: sent.message.role === 'assistant' ? ['context'] : [] }
  })
  const marks = handsOff ? new Set([...last.marks, 'before-handoff']) : last.marks
  return [...turns, { message: messageOfReply(last.reply), own: true, marks: [...marks] }]
}

/**
 * Agents hand replies back with different white space or ids. Take the model's own words, but the ids that results
 * refer to.
 */
function asReplied({ reply }: Exchange, { message: handedBack }: SentMessage): ChatMessage {
  const message = messageOfReply(reply)
  const calls = handedBack.toolCalls ?? []
  if (!message.toolCalls || calls.length !== message.toolCalls.length) return message
  return { ...message, toolCalls: message.toolCalls.map((call, i) => ({ ...call, id: calls[i]?.id ?? call.id })) }
}
