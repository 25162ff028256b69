/** How the number of trials at once follows what the model's server can take. */
export interface AdaptiveConcurrency {
  readonly minLimit: number
  readonly maxLimit: number
  /** Where the servers show their load; none: only how long replies take is looked at. */
  readonly metricsUrls: readonly string[]
  readonly metricsTimeoutSec: number
  readonly pollIntervalSec: number
  /** How many of the last looks at the queue count. */
  readonly windowSize: number
  /** More waiting requests than this, 95 % of the window, drop the limit at once; null: never. */
  readonly queueP95DropThreshold: number | null
  /** How much slower than usual replies may be before the limit goes down. */
  readonly tolerance: number
  /** How far each step goes towards where it should: 1 is all the way. */
  readonly smoothing: number
  /** How many trials more are tried at each step; null: the root of the limit. */
  readonly queueSize: number | null
  /** Over how many looks a tenth of what "usual" means is forgotten. */
  readonly longWindow: number
}
