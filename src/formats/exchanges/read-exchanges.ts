import { z } from 'zod'
import type { ReplyMark } from '../../core/agent.ts'
import { replyMarks } from '../../core/agent.ts'
import type { ChatMessage, ToolDefinition } from '../../core/model.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { isSame } from '../atif/recorder/conversation.ts'
import {
  type ExchangeReply,
  exchangesSchema,
  type HeadLine,
  mainConversation,
  messageOfReply,
  plainMessage,
  withoutReasoning,
} from './exchange.ts'
import { roleOf } from './write-exchanges.ts'

/** What is known about a reply: the agent's own marks, and an early stop of the model. */
export type TurnMark = ReplyMark | 'truncated' | 'filtered'

/** One completed call: exactly the messages sent, and the reply. */
export interface Exchange {
  readonly call: number
  readonly timestamp: string
  /** As sent. Calls of a thread share their messages, so that a long conversation is stored once. */
  readonly sent: readonly SentMessage[]
  readonly tools: readonly ToolDefinition[]
  readonly reply: ExchangeReply
  readonly marks: readonly TurnMark[]
}

export interface SentMessage {
  readonly message: ChatMessage
  /**
   * The earlier call of this thread that produced this message as its reply, as handed back by the agent; null if it
   * did not occur in this thread.
   */
  readonly call: number | null
}

/** One conversation: every call continues the previous one. */
export interface Thread {
  readonly id: number
  /**
   * `main`, the agent's own name for the calls' purpose, or `side-N` for a black-box agent's calls outside its main
   * conversation.
   */
  readonly conversation: string
  /** At least one. */
  readonly calls: readonly Exchange[]
}

export interface Exchanges {
  /** In the order in which they started. */
  readonly threads: readonly Thread[]
  /** Calls without a reply. */
  readonly failed: readonly { readonly call: number; readonly code: string }[]
  /** How many calls of a command-line agent were refused before they reached its model. */
  readonly refused: number
  /** Why reading stopped early, for people; null if everything was read. A crash truncates the last line. */
  readonly cut: string | null
}

/** Limits for a file: black-box agents are hostile. */
const limits = { calls: 100_000, messages: 100_000, places: 20_000_000 }

/** Reads `exchanges.jsonl` up to the first bad line; everything before it is valid. */
export function readExchanges(bytes: Uint8Array): Exchanges {
  const reading = new Reading()
  let start = 0
  let number = 0
  let cut: string | null = null
  while (start < bytes.length && cut === null) {
    const feed = bytes.indexOf(lineFeed, start)
    number++
    if (feed < 0) {
      cut = `line ${number} is not complete`
      break
    }
    const wrong = reading.line(utf8.decode(bytes.subarray(start, feed)), number === 1)
    if (wrong !== null) cut = `line ${number}: ${wrong}`
    start = feed + 1
  }
  return { ...reading.result(), cut }
}

/** What the first line of a file says about the model; null if nothing. */
export function modelInHead(bytes: Uint8Array): NonNullable<HeadLine['model']> | null {
  const feed = bytes.subarray(0, 4096).indexOf(lineFeed)
  const parsed = head.safeParse(feed < 0 ? null : parseJson(utf8.decode(bytes.subarray(0, feed))))
  return parsed.success ? parsed.data.model : null
}

const lineFeed = 0x0a
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

const toolCall = z.object({
  id: z.string(),
  name: z.string(),
  arguments: z.string(),
  signature: z.string().exactOptional(),
})
const fields = z.record(z.string(), z.unknown())
const message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  reasoning: z.string().exactOptional(),
  reasoningBlocks: z.array(fields).exactOptional(),
  toolCalls: z.array(toolCall).exactOptional(),
  toolCallId: z.string().exactOptional(),
})
const tokens = z.number().nullable()
const head = z.object({ model: z.object({ contextTokens: tokens, outputTokens: tokens }) })
const index = z.int().nonnegative()
const usage = z.object({
  inputTokens: z.number(),
  cacheTokens: z.number(),
  outputTokens: z.number(),
  cacheWriteTokens: z.number().exactOptional(),
  estimated: z.boolean().exactOptional(),
})
const reply = z.object({
  text: z.string(),
  reasoning: z.string().nullable(),
  reasoningBlocks: z.array(fields).exactOptional(),
  toolCalls: z.array(toolCall),
  finish: z.enum(['stop', 'length', 'content-filter', 'tool-calls']),
  usage,
  costUsd: z.number().nullable(),
  latencyMs: z.number(),
  attempts: z.number().exactOptional(),
  dropped: z.array(z.string()).exactOptional(),
})
const tool = z.object({ name: z.string(), description: z.string(), parameters: fields })
const exchange = z.object({
  call: index,
  timestamp: z.string(),
  thread: index,
  conversation: z.string(),
  from: index.exactOptional(),
  keep: index,
  changed: z.array(z.tuple([index, message.nullable()])).exactOptional(),
  messages: z.array(message),
  tools: z.array(tool).exactOptional(),
  reply,
})
const failure = z.object({ call: index, error: z.object({ code: z.string() }), refused: index.exactOptional() })
const marked = z.object({ call: index, mark: z.enum(replyMarks) })
type Line = z.output<typeof exchange>

interface OpenThread {
  readonly id: number
  readonly named: string
  known: readonly SentMessage[]
  tools: readonly ToolDefinition[]
  readonly calls: Exchange[]
}

/** The state of reading a file. */
class Reading {
  private readonly threads = new Map<number, OpenThread>()
  private readonly marks = new Map<number, Set<TurnMark>>()
  private readonly failed: { call: number; code: string }[] = []
  private refused = 0
  private calls = 0
  private places = 0

  /** Processes a line; returns what is wrong with it, or null. */
  line(text: string, isFirst: boolean): string | null {
    const value = parseJson(text)
    if (typeof value !== 'object' || value === null) return 'expected a JSON object'
    if (isFirst) return 'schema' in value && value.schema === exchangesSchema ? null : `expected ${exchangesSchema}`
    if ('mark' in value) return this.take(marked, value, ({ call, mark }) => this.mark(call, mark))
    if ('error' in value) {
      return this.take(failure, value, ({ call, error, refused }) => {
        if (refused === undefined) this.failed.push({ call, code: error.code })
        else this.refused += refused
        return null
      })
    }
    if (++this.calls > limits.calls) return `more than ${limits.calls} calls`
    return this.take(exchange, value, (line) => this.exchange(line))
  }

  result(): Omit<Exchanges, 'cut'> {
    const labels = labelsOf([...this.threads.values()])
    const threads = [...this.threads.values()].map(({ id, calls }) => ({
      id,
      conversation: labels.get(id) ?? mainConversation,
      calls: calls.map((each) => ({ ...each, marks: [...(this.marks.get(each.call) ?? [])] })),
    }))
    return { threads, failed: this.failed, refused: this.refused }
  }

  private take<T>(schema: z.ZodType<T>, value: object, use: (line: T) => string | null | undefined): string | null {
    const parsed = schema.safeParse(value)
    if (parsed.success) return use(parsed.data) ?? null
    const [issue] = parsed.error.issues
    return `${issue?.path.join('.') || 'the line'}: ${issue?.message ?? 'not valid'}`
  }

  private mark(call: number, mark: TurnMark): null {
    this.marks.set(call, (this.marks.get(call) ?? new Set()).add(mark))
    return null
  }

  private exchange(line: Line): string | null {
    const thread = this.threads.get(line.thread)
    const base = thread ?? (line.from === undefined ? undefined : this.threads.get(line.from))
    const known = base?.known ?? []
    if (line.keep > known.length) return `keeps ${line.keep} messages of ${known.length}`
    const sent = sentBy(line, known, thread !== undefined)
    if (typeof sent === 'string') return sent
    this.places += sent.length
    if (sent.length > limits.messages) return `more than ${limits.messages} messages`
    if (this.places > limits.places) return `more than ${limits.places} messages over all calls`
    const open = thread ?? { id: line.thread, named: line.conversation, known: [], tools: [], calls: [] }
    const tools = line.tools ?? open.tools
    const { call, timestamp, reply } = line
    if (reply.finish === 'length') this.mark(call, 'truncated')
    if (reply.finish === 'content-filter') this.mark(call, 'filtered')
    open.calls.push({ call, timestamp, sent, tools, reply, marks: [] })
    Object.assign(open, { tools, known: [...sent, { message: messageOfReply(reply), call }] })
    this.threads.set(open.id, open)
    return null
  }
}

/** The messages of a call; replies from another thread lose their origin. */
function sentBy(line: Line, known: readonly SentMessage[], isOwn: boolean): SentMessage[] | string {
  const sent = known.slice(0, line.keep).map((each) => (isOwn ? each : { ...each, call: null }))
  for (const [at, message] of line.changed ?? []) {
    const before = sent[at]
    if (before === undefined) return `changes message ${at} of ${sent.length}`
    sent[at] = {
      message: message === null ? withoutReasoning(before.message) : plainMessage(message),
      call: before.call,
    }
  }
  // Replies at other positions than before are matched in order.
  const heard = isOwn ? known.slice(line.keep).filter(({ call }) => call !== null) : []
  for (const message of line.messages.map(plainMessage)) {
    const at = message.role === 'assistant' ? heard.findIndex((each) => isSame(each.message, message)) : -1
    sent.push({ message, call: heard[at]?.call ?? null })
    if (at >= 0) heard.splice(0, at + 1)
  }
  return sent
}

/**
 * The name of each thread. A black-box agent's main conversation is the first one with tools, or else the longest;
 * threads with the same system prompt and tools belong to it, because agents that shorten their history start over.
 */
function labelsOf(threads: readonly OpenThread[]): Map<number, string> {
  const labels = new Map(threads.map(({ id, named }) => [id, named]))
  const unnamed = threads.filter(({ named }) => named === mainConversation)
  const roles = new Map(unnamed.map((thread) => [thread, roleOf(firstRequest(thread))]))
  const main =
    unnamed.find(({ calls }) => calls.some(({ tools }) => tools.length > 0)) ??
    unnamed.reduce<OpenThread | undefined>(
      (best, next) => (best && best.calls.length >= next.calls.length ? best : next),
      undefined,
    )
  let sides = 0
  for (const thread of unnamed) {
    if (main && roles.get(thread) !== roles.get(main)) labels.set(thread.id, `side-${++sides}`)
  }
  return labels
}

function firstRequest({ calls }: OpenThread) {
  const [first] = calls
  return { messages: first?.sent.map(({ message }) => message) ?? [], tools: first?.tools ?? [] }
}
