import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { Sandbox, SandboxLease, SandboxRequest, ToolDir } from '../../core/sandbox.ts'
import type { Environment, Healthcheck } from '../../core/task.ts'
import { expired, sleep, withDeadline } from '../../lib/deadline.ts'
import { atBoundary, releaseLate, releaseSandbox } from './boundary.ts'
import type { TrialContext } from './context.ts'
import { environmentStartLimitSec } from './context.ts'

/** How many times in all a start that runs out of time is tried. */
const tries = 2

/** Leases a sandbox and waits until it is healthy; the caller releases it. */
export async function startSandbox(
  context: TrialContext,
  environment: Environment,
  toolDirs: readonly ToolDir[] = [],
): Promise<SandboxLease> {
  const limitSec = environmentStartLimitSec(environment, context.config)
  const lease = await leaseInTime(context, { ...requestFor(context, environment), toolDirs }, limitSec)
  try {
    const healthcheck = environment.healthcheck ?? lease.healthcheck
    if (healthcheck) await waitUntilHealthy(lease, healthcheck, context)
    return lease
  } catch (error) {
    await releaseSandbox(lease, context)
    throw error
  }
}

async function leaseInTime(context: TrialContext, request: SandboxRequest, limitSec: number): Promise<SandboxLease> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    const lease = await leaseOnce(context, request, limitSec)
    if (lease !== expired) return lease
    context.log(`sandbox did not start within ${limitSec} s (try ${attempt} of ${tries})`)
  }
  const code = 'EnvironmentStartTimeoutError'
  throw new BoundaryError('sandbox', `the sandbox did not start within ${limitSec} s, tried ${tries} times`, { code })
}

async function leaseOnce(
  context: TrialContext,
  request: SandboxRequest,
  limitSec: number,
): Promise<SandboxLease | typeof expired> {
  const { provider, signal, log } = context
  const asked: Promise<SandboxLease>[] = []
  const answered = await atBoundary('sandbox', signal, () =>
    withDeadline(limitSec, signal, async (signal) => {
      const lease = provider.lease({ ...request, signal, log })
      asked.push(lease)
      return lease
    }),
  ).catch(async (error: unknown) => {
    await Promise.all(asked.map((lease) => releaseLate(lease, context)))
    throw error
  })
  if (answered === expired) await Promise.all(asked.map((lease) => releaseLate(lease, context)))
  return answered
}

/** What a trial requests from a provider; a prefetched sandbox must match it exactly. */
export function requestFor(
  context: Pick<TrialContext, 'config' | 'hostEnv' | 'jobName'>,
  environment: Environment,
): SandboxRequest {
  const { config, hostEnv } = context
  return {
    owner: { job: context.jobName, trial: config.trialName },
    environment: { ...environment, env: resolveEnv(environment.env, hostEnv) },
    env: resolveEnv(config.environment.env, hostEnv),
    forceBuild: config.environment.forceBuild,
  }
}

interface At {
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/**
 * Runs the task's health command until it succeeds; failures in the start period are ignored, later ones count if
 * consecutive.
 */
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

/**
 * The maximum that the check's own settings add up to, with room for a slow sandbox: only an unresponsive one reaches
 * it.
 */
function boundSec(check: Healthcheck): number {
  const perTrySec = check.timeoutSec + Math.max(check.intervalSec, check.startIntervalSec)
  return check.startPeriodSec + (check.retries + 2) * perTrySec + 60
}
