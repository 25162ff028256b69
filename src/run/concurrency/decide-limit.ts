import type { AdaptiveConcurrency } from '../../core/concurrency.ts'

/** What one look at the server showed. */
export type LoadSample =
  | {
      readonly kind: 'load'
      readonly running: number
      readonly waiting: number
      /** Share of the cache for contexts that is in use, 0 to 1; null where the server does not say. */
      readonly cacheUse: number | null
    }
  /** How long a token of a reply took, typically, since the last look. */
  | { readonly kind: 'latency'; readonly msPerToken: number }

export interface LimitState {
  /** Not rounded: small steps must add up. */
  readonly limit: number
  readonly usualMsPerToken: number | null
  /** The last looks at the queue, oldest first. */
  readonly waiting: readonly number[]
}

/** A cache fuller than this leaves no room for contexts to grow. */
const fullCache = 0.9

/** A queue this much shorter than what runs is no reason to go down: it keeps the server busy. */
const queueTolerance = 1.1

/** How far one step can go down, and a drop does. */
const lowestGradient = 0.5
const dropTo = 0.7

/** How far up an idle server with an empty cache lets one step go. */
const fastestGrowth = 0.5

/** By how much "usual" may get worse over the long window. */
const forgotten = 0.1

export function startLimit(start: number, settings: AdaptiveConcurrency): LimitState {
  return { limit: clamp(start, settings.minLimit, settings.maxLimit), usualMsPerToken: null, waiting: [] }
}

/**
 * The next limit, by the gradient between what the server does and what it would do unhurried: requests that run of all
 * it has, or usual time of recent time. A limit that is not used up says nothing about a higher one, so it stays.
 */
export function decideLimit(
  state: LimitState,
  sample: LoadSample | null,
  inFlight: number,
  settings: AdaptiveConcurrency,
): LimitState {
  if (!sample) return state
  const next = sample.kind === 'load' ? byLoad(state, sample, settings) : byLatency(state, sample.msPerToken, settings)
  const isUsed = inFlight >= state.limit / 2
  const wanted = next.limit > state.limit && !isUsed ? state.limit : next.limit
  return { ...next, limit: clamp(wanted, settings.minLimit, settings.maxLimit) }
}

function byLoad(state: LimitState, sample: LoadSample & { kind: 'load' }, settings: AdaptiveConcurrency): LimitState {
  const { running, waiting, cacheUse } = sample
  const window = [...state.waiting, waiting].slice(-settings.windowSize)
  const { queueP95DropThreshold: threshold } = settings
  if (threshold !== null && percentile95(window) > threshold) {
    // What queued before the drop must not make it drop again.
    return { ...state, limit: state.limit * dropTo, waiting: [] }
  }
  const all = running + waiting
  const room = cacheUse === null ? 0.5 : Math.max(0, (fullCache - cacheUse) / fullCache)
  const gradient = all === 0 ? 1 : clamp((queueTolerance * running) / all, lowestGradient, 1)
  const growth = room === 0 ? 0 : more(state.limit, settings)
  const idleGrowth = waiting === 0 ? state.limit * fastestGrowth * room : 0
  return { ...state, waiting: window, limit: step(state.limit, gradient, growth + idleGrowth, settings) }
}

function byLatency(state: LimitState, msPerToken: number, settings: AdaptiveConcurrency): LimitState {
  const before = state.usualMsPerToken ?? msPerToken
  // An average would get used to any crowd and let it grow for ever. Better times count soon, worse ones hardly.
  const usual =
    msPerToken < before
      ? (before + msPerToken) / 2
      : Math.min(msPerToken, before * (1 + forgotten / settings.longWindow))
  const gradient = clamp((settings.tolerance * usual) / msPerToken, lowestGradient, 1)
  return { ...state, usualMsPerToken: usual, limit: step(state.limit, gradient, more(state.limit, settings), settings) }
}

function step(limit: number, gradient: number, growth: number, { smoothing }: AdaptiveConcurrency): number {
  return limit * (1 - smoothing) + (limit * gradient + growth) * smoothing
}

function more(limit: number, { queueSize }: AdaptiveConcurrency): number {
  return queueSize ?? Math.sqrt(limit)
}

function percentile95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? 0
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}
