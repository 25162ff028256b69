import type { RefusedCall, ReplyMark } from '../../core/agent.ts'
import type { ChatMessage, ModelFacts, ModelReply, ModelRequest } from '../../core/model.ts'
import { utcNow } from '../../lib/time.ts'
import { commonLength, continuationOf, isSame, spokenIn } from '../atif/recorder/conversation.ts'
import {
  type ExchangeLine,
  type ExchangeReply,
  exchangesSchema,
  type FailedLine,
  type HeadLine,
  isEqualMessage,
  type MarkLine,
  mainConversation,
  messageOfReply,
  plainMessage,
  withoutReasoning,
} from './exchange.ts'

/** Further refused calls are only counted: an agent may make thousands per second. */
const mostRefusals = 100

/**
 * Turns an agent's calls into the lines of `exchanges.jsonl`, whose size grows with what was said, not with how often
 * it was sent.
 */
export class ExchangeLog {
  private readonly threads: LiveThread[] = []
  private calls = 0
  private refused = 0

  /** The first line of a file; it includes the context size, by which agents decide when to hand off. */
  head(facts?: Pick<ModelFacts, 'contextTokens' | 'outputTokens'>): HeadLine {
    if (!facts) return { schema: exchangesSchema }
    const { contextTokens, outputTokens } = facts
    return { schema: exchangesSchema, model: { contextTokens, outputTokens } }
  }

  /** A completed call. Its request must be unchanged since it was sent. */
  reply(request: ModelRequest, reply: ModelReply): ExchangeLine {
    const conversation = request.purpose ?? mainConversation
    const messages = request.messages.map(plainMessage)
    const found = this.follow(conversation, messages, roleOf(request))
    const thread = found ?? this.open(conversation)
    const base = found ?? this.closest(messages)
    const { keep, changed } = shared(base?.known ?? [], messages)
    const tools = JSON.stringify(request.tools ?? [])
    const kept = keepReply(reply)
    const line: ExchangeLine = {
      call: ++this.calls,
      timestamp: utcNow(),
      thread: thread.id,
      conversation,
      ...(request.dialect !== undefined && { dialect: request.dialect }),
      ...(!found && base && keep > 0 && { from: base.id }),
      keep,
      ...(changed.length > 0 && { changed }),
      messages: messages.slice(keep),
      ...(tools !== thread.tools && { tools: request.tools ?? [] }),
      reply: kept,
    }
    Object.assign(thread, { tools, role: roleOf(request), known: [...messages, messageOfReply(kept)] })
    return line
  }

  failure({ purpose, dialect }: Pick<ModelRequest, 'purpose' | 'dialect'>, code: string, message: string): FailedLine {
    const conversation = purpose ?? mainConversation
    const by = dialect === undefined ? {} : { dialect }
    return { call: ++this.calls, timestamp: utcNow(), conversation, ...by, error: { code, message } }
  }

  /** A call refused before it reached the model; null beyond the limit, where they are only counted. */
  refusal({ dialect, code, message }: RefusedCall): FailedLine | null {
    if (++this.refused > mostRefusals) return null
    return { ...this.failure({ dialect }, code, message.slice(0, 300)), refused: 1 }
  }

  /** The last line of a file: how many further calls were refused; null if the file has them all. */
  moreRefused(): FailedLine | null {
    const more = this.refused - mostRefusals
    if (more <= 0) return null
    return { ...this.failure({}, 'Refused', `${more} more calls were refused`), refused: more }
  }

  /** Null if there was no such call. */
  mark(call: number | undefined, mark: ReplyMark): MarkLine | null {
    return call !== undefined && call > 0 && call <= this.calls ? { mark, call } : null
  }

  /** Finds the thread a request continues, the longest one that fits. */
  private follow(conversation: string, messages: readonly ChatMessage[], role: string): LiveThread | null {
    const fitting = this.threads.filter(
      (thread) => thread.conversation === conversation && continues(thread, messages, role),
    )
    return fitting.reduce<LiveThread | null>(
      (best, next) => (best === null || next.known.length >= best.known.length ? next : best),
      null,
    )
  }

  private open(conversation: string): LiveThread {
    const thread = { id: this.threads.length + 1, conversation, known: [], tools: '[]', role: '' }
    this.threads.push(thread)
    return thread
  }

  /** The thread that shares the most with a request that continues none. */
  private closest(messages: readonly ChatMessage[]): LiveThread | null {
    let best: LiveThread | null = null
    let most = 0
    for (const thread of this.threads) {
      const differs = thread.known.findIndex((message, i) => {
        const other = messages[i]
        return other === undefined || !isEqualMessage(message, other)
      })
      const length = differs < 0 ? thread.known.length : differs
      if (length > most) [best, most] = [thread, length]
    }
    return best
  }
}

interface LiveThread {
  readonly id: number
  readonly conversation: string
  /** Everything sent in the last call, and its reply. */
  readonly known: readonly ChatMessage[]
  readonly tools: string
  readonly role: string
}

/** Tells conversations with the same words apart, by system prompt and tools. */
export function roleOf({ messages, tools = [] }: Pick<ModelRequest, 'messages' | 'tools'>): string {
  const first = messages[0]
  // Only the start of the system prompt, because agents put the date and visible files at the end.
  const rules = first?.role === 'system' ? first.content.slice(0, 500) : ''
  return JSON.stringify([rules, tools.map(({ name }) => name).sort()])
}

/**
 * A request continues a thread if it starts with everything the thread knows, in the form agents hand it back: system
 * messages, ids and white space may differ. It also does if it requests the last reply again, or leaves out an empty
 * one.
 */
function continues(thread: LiveThread, messages: readonly ChatMessage[], role: string): boolean {
  const known = spokenIn(thread.known)
  const on = continuationOf(known, messages)
  if (on) return !on.again || thread.role === role
  const reply = thread.known.at(-1)
  const asked = thread.known.at(-2)
  const isEmpty = reply !== undefined && spokenIn([reply]).length === 0
  if (!isEmpty || asked === undefined || thread.role !== role) return false
  // After an empty reply, the same question may be asked again with more text.
  const before = spokenIn(thread.known.slice(0, -2))
  const again = spokenIn(messages)[before.length]
  return (
    commonLength(before, messages) === before.length &&
    again?.role === asked.role &&
    again.content.startsWith(asked.content)
  )
}

/** How many known messages a request repeats, and which of them in another form. */
function shared(known: readonly ChatMessage[], messages: readonly ChatMessage[]) {
  const changed: [number, ChatMessage | null][] = []
  let keep = 0
  for (const message of messages) {
    const before = known[keep]
    if (before === undefined) break
    if (!isEqualMessage(before, message)) {
      if (before.role !== message.role || !(message.role === 'system' || isSame(before, message))) break
      changed.push([keep, isEqualMessage(withoutReasoning(before), message) ? null : message])
    }
    keep++
  }
  return { keep, changed }
}

function keepReply({ tokens: _, call: __, ...reply }: ModelReply): ExchangeReply {
  return reply
}
