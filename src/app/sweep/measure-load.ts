import { messageOf } from '../../core/errors.ts'
import type { ModelClient, ModelReply } from '../../core/model.ts'
import { type Distribution, DistributionTally } from '../../stats/distribution.ts'

export interface LoadRequest {
  /** Concurrent requests. */
  readonly concurrency: number
  readonly requests: number
  /** Approximate length of each prompt. */
  readonly promptTokens: number
  readonly maxOutputTokens: number
  /** A request that takes longer counts as failed. */
  readonly timeoutSec: number
  readonly signal: AbortSignal
}

/** How a server performed under a load. */
export interface LoadResult {
  readonly requests: number
  readonly failed: number
  /** Error messages with their counts. */
  readonly errors: Readonly<Record<string, number>>
  /** Time from the first request to the last reply. */
  readonly seconds: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly outputTokensPerSec: number
  readonly requestsPerSec: number
  /** Seconds from a request to the end of its reply. */
  readonly latencySec: Distribution | null
  /** Seconds to the first piece of a reply; null for a server that does not stream. */
  readonly firstTokenSec: Distribution | null
}

const mostErrors = 20

/** Keeps a constant number of requests in flight until all are answered, and measures them. */
export async function measureLoad(client: ModelClient, load: LoadRequest): Promise<LoadResult> {
  const { concurrency, requests, signal } = load
  const [latency, first] = [new DistributionTally(), new DistributionTally()]
  const errors = new Map<string, number>()
  const sums = { inputTokens: 0, outputTokens: 0, failed: 0 }
  const startedAt = performance.now()
  let next = 0
  const work = async () => {
    while (next < requests) {
      signal.throwIfAborted()
      const sentAt = performance.now()
      const asked = await askOnce(client, load, next++)
      if ('failed' in asked) {
        sums.failed++
        const known = errors.has(asked.failed) || errors.size < mostErrors ? asked.failed : 'other errors'
        errors.set(known, (errors.get(known) ?? 0) + 1)
        continue
      }
      latency.add((performance.now() - sentAt) / 1000)
      if (asked.firstAt !== null) first.add((asked.firstAt - sentAt) / 1000)
      sums.inputTokens += asked.reply.usage.inputTokens
      sums.outputTokens += asked.reply.usage.outputTokens
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, requests) }, work))
  const seconds = (performance.now() - startedAt) / 1000
  return {
    ...{ requests, errors: Object.fromEntries(errors), seconds, ...sums },
    outputTokensPerSec: sums.outputTokens / seconds,
    requestsPerSec: (requests - sums.failed) / seconds,
    latencySec: latency.read(),
    firstTokenSec: first.read(),
  }
}

type Asked = { readonly reply: ModelReply; readonly firstAt: number | null } | { readonly failed: string }

async function askOnce(client: ModelClient, load: LoadRequest, nth: number): Promise<Asked> {
  const { promptTokens, maxOutputTokens, timeoutSec, signal } = load
  let firstAt: number | null = null
  const onText = () => {
    firstAt ??= performance.now()
  }
  try {
    const messages = [{ role: 'user', content: promptOf(nth, promptTokens) }] as const
    const options = { signal, timeoutSec, onText, onReasoning: onText }
    const outcome = await client.complete({ messages, maxOutputTokens }, options)
    if (outcome.kind === 'reply') return { reply: outcome.reply, firstAt }
    return {
      failed: outcome.kind === 'context-exceeded' ? 'the prompt is too long for the model' : 'the budget is used up',
    }
  } catch (error) {
    signal.throwIfAborted()
    return { failed: messageOf(error).slice(0, 200) }
  }
}

const words = ['river', 'stone', 'paper', 'window', 'garden', 'copper', 'winter', 'market', 'letter', 'bridge']

/**
 * A prompt of about this many tokens. It starts with its number, so that no server can reuse the cache of another
 * prompt.
 */
function promptOf(nth: number, tokens: number): string {
  const drawn = (i: number) => words[(nth * 7919 + i * i * 31 + i * 17) % words.length]
  const listed = Array.from({ length: Math.max(1, tokens - 20) }, (_, i) => drawn(i)).join(' ')
  return `Text ${nth}. ${listed}\n\nWrite a long story with these words.`
}
