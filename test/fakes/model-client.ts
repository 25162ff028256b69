import { setTimeout as wait } from 'node:timers/promises'
import type {
  CallOptions,
  ChatMessage,
  ModelClient,
  ModelFacts,
  ModelOutcome,
  ModelReply,
  ModelRequest,
} from '../../src/core/model.ts'

/** What the model does in one call: reply with a text, reply with specific fields, or end some other way. */
export type Part =
  | string
  | Partial<ModelReply>
  | ModelOutcome
  | ((request: ModelRequest) => Part)
  /** Waits until it is stopped. */
  | 'hang'

export interface PlayedClient extends ModelClient {
  /** Every request so far. */
  readonly requests: ModelRequest[]
}

const noFacts: ModelFacts = {
  contextTokens: null,
  outputTokens: null,
  inputUsdPerToken: null,
  cacheUsdPerToken: null,
  outputUsdPerToken: null,
}

/** A model in this process that plays a list of parts, one per call; the last one repeats forever. */
export function playedClient(parts: readonly Part[], facts: Partial<ModelFacts> = {}): PlayedClient {
  const requests: ModelRequest[] = []
  return {
    model: 'fake/played',
    facts: { ...noFacts, ...facts },
    requests,
    countTokens: (messages) => ({ tokens: countTokens(messages), exact: true }),
    async complete(request, options = {}) {
      const part = parts[Math.min(requests.length, parts.length - 1)] ?? ''
      requests.push(request)
      return outcomeOf(part, request, options)
    },
  }
}

/** A quarter of the number of characters. */
export function countTokens(messages: readonly ChatMessage[]): number {
  return Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4)
}

async function outcomeOf(part: Part, request: ModelRequest, options: CallOptions): Promise<ModelOutcome> {
  if (typeof part === 'function') return outcomeOf(part(request), request, options)
  if (part === 'hang') await wait(3_600_000, null, options.signal ? { signal: options.signal } : {})
  if (typeof part !== 'string' && 'kind' in part) return part
  const said = typeof part === 'string' ? { text: part } : part
  const usage = {
    inputTokens: countTokens(request.messages),
    cacheTokens: 0,
    outputTokens: Math.ceil((said.text?.length ?? 0) / 4),
  }
  const reply: ModelReply = {
    text: '',
    reasoning: null,
    toolCalls: [],
    finish: 'stop',
    usage,
    costUsd: 0.001,
    tokens: null,
    latencyMs: 1,
    ...said,
  }
  return { kind: 'reply', reply }
}
