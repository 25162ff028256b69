import type { RetryConfig } from '../../core/job.ts'
import type { TrialEnd } from '../../core/trial.ts'

/**
 * How long to wait before a trial is tried again, or null when its ending stands.
 * Only what its boundary calls retryable; a code that is both included and excluded is excluded.
 */
export function retryWaitSec(end: TrialEnd, triesSoFar: number, config: RetryConfig): number | null {
  if (end.kind !== 'failed' || triesSoFar > config.maxRetries || !end.failure.retryable) return null
  const { code } = end.failure
  if (config.exclude.includes(code) || (config.include !== null && !config.include.includes(code))) return null
  return Math.min(config.minWaitSec * config.waitMultiplier ** (triesSoFar - 1), config.maxWaitSec)
}
