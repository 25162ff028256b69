import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { SandboxLease, SandboxRequest, ToolDir } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { atBoundary } from './boundary.ts'
import { giveBack, giveBackLate } from './give-back.ts'
import { waitUntilHealthy } from './healthcheck.ts'
import type { Scene } from './scene.ts'
import { environmentStartLimitSec } from './time-limits.ts'

/** A start that ran out of time is tried this often in all. */
const tries = 2

/** Leases a sandbox and waits until it is healthy; whoever gets it gives it back. */
export async function startSandbox(
  scene: Scene,
  environment: Environment,
  toolDirs: readonly ToolDir[] = [],
): Promise<SandboxLease> {
  const limitSec = environmentStartLimitSec(environment, scene.config)
  const lease = await leaseInTime(scene, { ...requestFor(scene, environment), toolDirs }, limitSec)
  try {
    const healthcheck = environment.healthcheck ?? lease.healthcheck
    if (healthcheck) await waitUntilHealthy(lease, healthcheck, scene)
    return lease
  } catch (error) {
    await giveBack(lease, scene)
    throw error
  }
}

async function leaseInTime(scene: Scene, request: SandboxRequest, limitSec: number): Promise<SandboxLease> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    const lease = await leaseOnce(scene, request, limitSec)
    if (lease !== expired) return lease
    scene.log(`sandbox did not start within ${limitSec} s (try ${attempt} of ${tries})`)
  }
  const code = 'EnvironmentStartTimeoutError'
  throw new BoundaryError('sandbox', `the sandbox did not start within ${limitSec} s, tried ${tries} times`, { code })
}

async function leaseOnce(
  scene: Scene,
  request: SandboxRequest,
  limitSec: number,
): Promise<SandboxLease | typeof expired> {
  const { provider, signal, log } = scene
  const asked: Promise<SandboxLease>[] = []
  const answered = await atBoundary('sandbox', signal, () =>
    withDeadline(limitSec, signal, async (signal) => {
      const lease = provider.lease({ ...request, signal, log })
      asked.push(lease)
      return lease
    }),
  ).catch(async (error: unknown) => {
    await Promise.all(asked.map((lease) => giveBackLate(lease, scene)))
    throw error
  })
  if (answered === expired) await Promise.all(asked.map((lease) => giveBackLate(lease, scene)))
  return answered
}

/** What a trial asks a provider for; asked ahead of time, it must be the same. */
export function requestFor(
  scene: Pick<Scene, 'config' | 'hostEnv' | 'jobName'>,
  environment: Environment,
): SandboxRequest {
  const { config, hostEnv } = scene
  return {
    owner: { job: scene.jobName, trial: config.trialName },
    environment: { ...environment, env: resolveEnv(environment.env, hostEnv) },
    env: resolveEnv(config.environment.env, hostEnv),
    forceBuild: config.environment.forceBuild,
  }
}
