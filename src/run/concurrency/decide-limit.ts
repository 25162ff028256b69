import type { AdaptiveConcurrency } from '../../core/concurrency.ts'

/** What one poll of the server showed. */
export type LoadSample =
  | {
      readonly kind: 'load'
      readonly running: number
      readonly waiting: number
      /** Share of the context cache in use, 0 to 1; null if the server does not report it. */
      readonly cacheUse: number | null
    }
  /** The typical time per reply token since the last poll. */
  | { readonly kind: 'latency'; readonly msPerToken: number }

export interface LimitState {
  /** Not rounded, so that small steps add up. */
  readonly limit: number
  readonly usualMsPerToken: number | null
  /** The queue lengths of the last polls, oldest first. */
  readonly waiting: readonly number[]
}

/** A cache fuller than this leaves no room for contexts to grow. */
const fullCache = 0.9

/** A queue within this ratio of the running requests is no reason to lower the limit: it keeps the server busy. */
const queueTolerance = 1.1

/** How far a single step or drop can lower the limit. */
const lowestGradient = 0.5
const dropTo = 0.7

/** How far one step can raise the limit when the server is idle and its cache empty. */
const fastestGrowth = 0.5

/** By how much the "usual" time may rise over the long window. */
const forgotten = 0.1

export function startLimit(start: number, settings: AdaptiveConcurrency): LimitState {
  return { limit: clamp(start, settings.minLimit, settings.maxLimit), usualMsPerToken: null, waiting: [] }
}

/**
 * The next limit, from the ratio of the server's state to its unhurried state: running requests to all it has, or usual
 * time to recent time. A limit that is not used up gives no evidence for a higher one, so it stays.
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
    // Requests queued before the drop must not cause another one.
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
  // A plain average would adapt to any crowding and let it grow forever. So faster times are adopted quickly, slower
  // ones hardly at all.
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
