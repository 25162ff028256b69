/** How the number of concurrent trials adapts to what the model's server can handle. */
export interface AdaptiveConcurrency {
  readonly minLimit: number
  readonly maxLimit: number
  /** Where the servers report their load; if empty, only reply latency is used. */
  readonly metricsUrls: readonly string[]
  readonly metricsTimeoutSec: number
  readonly pollIntervalSec: number
  /** How many of the latest queue readings are considered. */
  readonly windowSize: number
  /** When the 95th percentile of waiting requests in the window exceeds this, the limit drops at once; null: never. */
  readonly queueP95DropThreshold: number | null
  /** How much slower than usual replies may get before the limit goes down. */
  readonly tolerance: number
  /** How far each step moves toward the target: 1 moves all the way. */
  readonly smoothing: number
  /** How many extra trials each step tries; null: the square root of the limit. */
  readonly queueSize: number | null
  /** The number of readings over which a tenth of the "usual" latency is forgotten. */
  readonly longWindow: number
}
