import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { SandboxLease, SandboxRequest, ToolDir } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { atBoundary } from './boundary.ts'
import type { TrialContext } from './context.ts'
import { waitUntilHealthy } from './healthcheck.ts'
import { releaseLate, releaseSandbox } from './release.ts'
import { environmentStartLimitSec } from './time-limits.ts'

/** A start that ran out of time is tried this often in all. */
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

/** What a trial asks a provider for; asked ahead of time, it must be the same. */
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
