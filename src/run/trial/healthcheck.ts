import { BoundaryError } from '../../core/errors.ts'
import type { Sandbox } from '../../core/sandbox.ts'
import type { Healthcheck } from '../../core/task.ts'
import { expired, sleep, withDeadline } from '../../lib/deadline.ts'
import { atBoundary } from './boundary.ts'

interface At {
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/** Runs the task's health command until it succeeds; failures in the start period do not count, later ones in a row do. */
export async function waitUntilHealthy(sandbox: Sandbox, check: Healthcheck, at: At): Promise<void> {
  const healthy = await atBoundary('sandbox', at.signal, () =>
    withDeadline(boundSec(check), at.signal, (signal) => probe(sandbox, check, { signal, log: at.log })),
  )
  if (healthy !== expired && healthy) return
  const code = 'HealthcheckError'
  throw new BoundaryError('sandbox', `the environment is not healthy: ${check.command.slice(0, 200)}`, { code })
}

async function probe(sandbox: Sandbox, check: Healthcheck, at: At): Promise<boolean> {
  const startedMs = performance.now()
  let failures = 0
  for (;;) {
    const result = await sandbox.exec(['bash', '-c', check.command], {
      timeoutSec: check.timeoutSec,
      signal: at.signal,
      outputLimitBytes: 4096,
    })
    if (result.exitCode === 0 && !result.timedOut) return true
    const starting = performance.now() - startedMs < check.startPeriodSec * 1000
    at.log(
      `healthcheck failed (${result.timedOut ? 'timeout' : `exit ${result.exitCode}`})${starting ? ', still starting' : ''}`,
    )
    if (!starting && ++failures >= check.retries) return false
    await sleep((starting ? check.startIntervalSec : check.intervalSec) * 1000, at.signal)
  }
}

/** What the check's own numbers can add up to, with room for a slow sandbox: only a deaf one gets this far. */
function boundSec(check: Healthcheck): number {
  const perTrySec = check.timeoutSec + Math.max(check.intervalSec, check.startIntervalSec)
  return check.startPeriodSec + (check.retries + 2) * perTrySec + 60
}
