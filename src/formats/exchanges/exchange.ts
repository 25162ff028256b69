import type { ReplyMark } from '../../core/agent.ts'
import type { ChatMessage, ModelFacts, ModelReply, ToolDefinition } from '../../core/model.ts'

export const exchangesSchema = 'exchanges/1'
/** The limit for writing and reading: a black-box agent decides how much it says. */
export const exchangesLimitBytes = 256 << 20

/** The conversation of an agent that does not name it. */
export const mainConversation = 'main'

/** The stored part of a reply. Token ids are only in the trajectory. */
export type ExchangeReply = Omit<ModelReply, 'tokens' | 'call'>

/** The first line of a file, with what the agent knew about its model. */
export interface HeadLine {
  readonly schema: typeof exchangesSchema
  readonly model?: Pick<ModelFacts, 'contextTokens' | 'outputTokens'>
}

/** A completed call as a line: what is new since the previous call of its thread. */
export interface ExchangeLine {
  readonly call: number
  readonly timestamp: string
  readonly thread: number
  readonly conversation: string
  /** The API that a command-line agent used. */
  readonly dialect?: string
  /** The thread that a new one forks from, if it starts with that thread's messages. */
  readonly from?: number
  /** How many of the messages known to the thread (or the one in `from`) were sent again. */
  readonly keep: number
  /** Those of them that were sent in another form, with their indices; null: the same without its reasoning. */
  readonly changed?: readonly (readonly [index: number, message: ChatMessage | null])[]
  /** The messages sent after them. */
  readonly messages: readonly ChatMessage[]
  /** Only if they differ from those of the thread's previous call. */
  readonly tools?: readonly ToolDefinition[]
  readonly reply: ExchangeReply
}

/** A call that got no reply. */
export interface FailedLine {
  readonly call: number
  readonly timestamp: string
  readonly conversation: string
  readonly dialect?: string
  /**
   * Set for a call that never reached the model; more than 1: this many further calls were refused, and are not in the
   * file.
   */
  readonly refused?: number
  readonly error: { readonly code: string; readonly message: string }
}

/** A mark the agent later set on a reply. */
export interface MarkLine {
  readonly mark: ReplyMark
  readonly call: number
}

/** A reply as the message it becomes when handed back unabridged. */
export function messageOfReply({ text, reasoning, reasoningBlocks, toolCalls }: ExchangeReply): ChatMessage {
  return plainMessage({
    role: 'assistant',
    content: text,
    ...(reasoning !== null && { reasoning }),
    ...(reasoningBlocks && { reasoningBlocks }),
    toolCalls,
  })
}

/** A message reduced to its non-empty keys, in a fixed order. */
export function plainMessage(message: ChatMessage): ChatMessage {
  const { role, content, reasoning, reasoningBlocks = [], toolCalls = [], toolCallId } = message
  return {
    role,
    content,
    ...(reasoning !== undefined && reasoning !== null && reasoning !== '' && { reasoning }),
    ...(reasoningBlocks.length > 0 && { reasoningBlocks }),
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(plainCall) }),
    ...(toolCallId !== undefined && { toolCallId }),
  }
}

function plainCall({ id, name, arguments: text, signature }: NonNullable<ChatMessage['toolCalls']>[number]) {
  return { id, name, arguments: text, ...(signature !== undefined && { signature }) }
}

/** A message as most agents hand it back. */
export function withoutReasoning({ reasoning: _, reasoningBlocks: __, ...message }: ChatMessage): ChatMessage {
  return message
}

/** Whether two plain messages are identical. */
export function isEqualMessage(a: ChatMessage, b: ChatMessage): boolean {
  if (a === b) return true
  if (a.role !== b.role || a.content !== b.content) return false
  return restOf(a) === restOf(b)
}

function restOf({ reasoning, reasoningBlocks, toolCalls, toolCallId }: ChatMessage): string {
  if (reasoning === undefined && !reasoningBlocks && !toolCalls && toolCallId === undefined) return ''
  return JSON.stringify([reasoning, reasoningBlocks, toolCalls, toolCallId])
}
