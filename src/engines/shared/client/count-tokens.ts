import type { ChatMessage } from '../../../core/model.ts'
import { estimateTokens } from '../../../lib/estimate-tokens.ts'

export interface TokenCounter {
  count(messages: readonly ChatMessage[]): { readonly tokens: number; readonly exact: boolean }
  /** Learns the server's count for a conversation, which improves counts for it and everything that continues it. */
  learn(messages: readonly ChatMessage[], inputTokens: number): void
}

/** A conversation the server has counted. */
interface Anchor {
  readonly messages: readonly ChatMessage[]
  readonly tokens: number
  /** Whether the ratio already takes it into account. */
  used: boolean
}

/** Enough for a conversation or two, their summaries and a sub-agent. */
const maxAnchors = 8

/** The number of tokens a chat template adds to one message. */
const tokensPerMessage = 4

/**
 * Counts by guessing, corrected by the server's reports: exact for a conversation it has counted, exact up to that
 * point for one that continues it, and scaled by the average error so far for any other. Guesses are made only on
 * request.
 */
export function makeTokenCounter(): TokenCounter {
  const sizes = new WeakMap<ChatMessage, number>()
  const anchors: Anchor[] = []
  let ratio = 1
  const guess = (messages: readonly ChatMessage[]) => {
    let tokens = 0
    for (const message of messages) {
      const size = sizes.get(message) ?? guessMessage(message)
      sizes.set(message, size)
      tokens += size
    }
    return tokens
  }
  const adjust = (anchor: Anchor) => {
    anchor.used = true
    // Tools and templates make a short conversation look dense, so the new ratio is only partly trusted.
    ratio = clamp(0.7 * ratio + 0.3 * (anchor.tokens / guess(anchor.messages)), 0.5, 2)
  }
  return {
    count(messages) {
      for (const anchor of anchors) if (!anchor.used) adjust(anchor)
      const anchor = longest(anchors.filter((candidate) => isPrefix(candidate.messages, messages)))
      if (!anchor) return { tokens: Math.ceil(guess(messages) * ratio), exact: false }
      const rest = messages.slice(anchor.messages.length)
      return { tokens: anchor.tokens + Math.ceil(guess(rest) * ratio), exact: rest.length === 0 }
    },
    learn(messages, inputTokens) {
      if (inputTokens <= 0 || messages.length === 0) return
      const stale = anchors.findIndex((anchor) => isPrefix(anchor.messages, messages))
      if (stale >= 0) anchors.splice(stale, 1)
      anchors.push({ messages: [...messages], tokens: inputTokens, used: false })
      if (anchors.length > maxAnchors) anchors.shift()
    },
  }
}

function guessMessage({ content, reasoning, toolCalls = [] }: ChatMessage): number {
  const calls = toolCalls.reduce((sum, call) => sum + estimateTokens(call.name + call.arguments), 0)
  return tokensPerMessage + estimateTokens(content) + (reasoning === undefined ? 0 : estimateTokens(reasoning)) + calls
}

function isPrefix(prefix: readonly ChatMessage[], messages: readonly ChatMessage[]): boolean {
  if (prefix.length > messages.length) return false
  // The last messages are the likeliest to differ.
  for (let i = prefix.length - 1; i >= 0; i--) if (!isSame(prefix[i], messages[i])) return false
  return true
}

function isSame(a: ChatMessage | undefined, b: ChatMessage | undefined): boolean {
  return (
    a === b ||
    (a?.role === b?.role && a?.content === b?.content && a?.reasoning === b?.reasoning && a?.toolCalls === b?.toolCalls)
  )
}

function longest(anchors: readonly Anchor[]): Anchor | undefined {
  return anchors.reduce<Anchor | undefined>(
    (best, next) => (best && best.messages.length > next.messages.length ? best : next),
    undefined,
  )
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}
