import type { Pace } from '../../formats/dialect-server/model-service.ts'
import type { Latency } from './options.ts'

/** How long a reply takes to begin, for a number drawn evenly from 0 to 1. The long-tailed kind is log-logistic. */
export function latencyMs(latency: Latency, drawn: number): number {
  if (typeof latency === 'number') return latency
  if ('min' in latency) return latency.min + (latency.max - latency.min) * drawn
  const even = Math.min(0.999, Math.max(0.001, drawn))
  return latency.median * (even / (1 - even)) ** (Math.log(latency.p95 / latency.median) / Math.log(19))
}

/** Some tokens at a time, as fast as told; null for all at once. */
export function paceOf(tokensPerSec: number | undefined): Pace | null {
  if (tokensPerSec === undefined) return null
  const tokensAtOnce = Math.max(1, Math.round(tokensPerSec / 50))
  return { pieceChars: tokensAtOnce * 4, pieceMs: (tokensAtOnce / tokensPerSec) * 1000 }
}
