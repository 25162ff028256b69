import { fetch as undiciFetch } from 'undici'
import { sleep } from '../../lib/deadline.ts'
import { makePool } from '../../lib/http-client.ts'

type Env = Readonly<Record<string, string | undefined>>

/** How often to try a request, and the first and longest pause between tries. */
export interface Patience {
  readonly tries: number
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

const usualPatience: Patience = { tries: 6, firstWaitMs: 500, longestWaitMs: 30_000 }

/** The longest wait that a server can request. */
const longestRetryAfterMs = 300_000
const silenceMs = 120_000
/** How long to wait for an answer: the Hub checks every file of a commit before it answers. */
const answerMs = 600_000

/**
 * A fetch that retries transient failures: a busy or broken server, a lost connection. All other answers go to the
 * caller. Hub requests can safely be repeated, because a commit names its parent.
 */
export function makeHubFetch(env: Env, signal: AbortSignal, patience: Patience = usualPatience): typeof fetch {
  const pool = makePool(env, { headersTimeout: answerMs, bodyTimeout: silenceMs, connect: { timeout: 30_000 } })
  return async (input, init = {}) => {
    const both = init.signal ? AbortSignal.any([signal, init.signal]) : signal
    const send = async () =>
      (await undiciFetch(input as string | URL, {
        ...(init as object),
        ...(init.body instanceof Blob && streamed),
        signal: both,
        dispatcher: pool,
      })) as unknown as Response
    if (isSet(env.HF_HUB_OFFLINE)) throw new TypeError('fetch failed', { cause: new Error('HF_HUB_OFFLINE is set') })
    for (let nth = 1; ; nth++) {
      both.throwIfAborted()
      const answer = await send().catch((error: unknown) => {
        if (both.aborted || nth >= patience.tries) throw both.aborted ? both.reason : error
        return null
      })
      if (answer !== null && (!isPassing(answer.status) || nth >= patience.tries)) return answer
      await answer?.body?.cancel()
      await sleep(waitMs(nth, patience, answer?.headers.get('retry-after') ?? null), both)
    }
  }
}

/** A request that may be redirected keeps a copy of its body in memory; a large file must not. */
const streamed = { redirect: 'error', window: null } as const

/** Interprets a variable like the Hub's own client. */
function isSet(value = ''): boolean {
  return /^(1|on|yes|true)$/i.test(value.trim())
}

function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501)
}

function waitMs(nth: number, { firstWaitMs, longestWaitMs }: Patience, retryAfter: string | null): number {
  const askedMs = readRetryAfter(retryAfter)
  const jitter = Math.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** (nth - 1))
  if (askedMs === null) return jitter
  return Math.min(askedMs, longestRetryAfterMs) + Math.min(jitter, firstWaitMs)
}

/** Seconds, or a date. */
function readRetryAfter(text: string | null): number | null {
  if (text === null || text.trim() === '') return null
  if (Number(text) >= 0) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}
