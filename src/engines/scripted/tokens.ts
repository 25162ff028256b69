import { createHash } from 'node:crypto'
import type { ChatMessage, TokenDetails } from '../../core/model.ts'

const charsPerToken = 4

/** The number of tokens a template adds to a message. */
const tokensPerMessage = 3

/** The number of tokens of a text in the stand-in's own vocabulary: one for every four characters. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / charsPerToken)
}

/** The ids of a text's tokens: equal characters give equal ids. */
function tokenIds(text: string): number[] {
  const ids: number[] = []
  for (let from = 0; from < text.length; from += charsPerToken) ids.push(idOf(text, from))
  return ids
}

/** FNV-1a, kept within the size of typical vocabularies. */
function idOf(text: string, from: number): number {
  let hash = 0x811c9dc5
  for (let i = from; i < Math.min(from + charsPerToken, text.length); i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return 256 + ((hash >>> 0) % 100_000)
}

/** The first `count` tokens of a text. */
export function firstTokens(text: string, count: number): string {
  return text.slice(0, count * charsPerToken)
}

/** A message as the model sees it, as one text. */
function messageText({ role, content, reasoning, toolCalls = [] }: ChatMessage): string {
  const calls = toolCalls.map((call) => `${call.name}${call.arguments}`).join('')
  return `${role}${reasoning ?? ''}${content}${calls}`
}

export interface CountedMessage {
  readonly tokens: number
  /** Identifies the conversation up to and including this message. */
  readonly digest: string
}

/** Counts a conversation message by message. */
export function countMessages(messages: readonly ChatMessage[]): CountedMessage[] {
  const hash = createHash('sha1')
  return messages.map((message) => {
    const text = messageText(message)
    hash.update(`${text.length}:`).update(text)
    return { tokens: tokensPerMessage + countTokens(text), digest: hash.copy().digest('base64') }
  })
}

/** The ids of a whole conversation; each message begins with the tokens its template would add. */
function promptIds(messages: readonly ChatMessage[]): number[] {
  const ids: number[] = []
  for (const message of messages) {
    ids.push(1, 2, 3)
    for (const id of tokenIds(messageText(message))) ids.push(id)
  }
  return ids
}

/** Ids and log probabilities of a reply to a conversation; the numbers are meaningless but reproducible. */
export function tokenDetails(messages: readonly ChatMessage[], reply: string): TokenDetails {
  const completionIds = tokenIds(reply)
  return {
    promptIds: promptIds(messages),
    completionIds,
    logprobs: completionIds.map((id) => -((id % 97) + 1) / 100),
  }
}
