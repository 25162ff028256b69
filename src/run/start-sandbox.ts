import { resolveEnv } from '../core/env-template.ts'
import { BoundaryError } from '../core/errors.ts'
import type { SandboxLease } from '../core/sandbox.ts'
import type { Environment } from '../core/task.ts'
import { sandboxPaths } from '../core/task-paths.ts'
import { expired, withDeadline } from '../lib/deadline.ts'
import { atBoundary } from './boundary.ts'
import { giveBack, giveBackLate } from './give-back.ts'
import { waitUntilHealthy } from './healthcheck.ts'
import type { Scene } from './scene.ts'
import { environmentStartLimitSec } from './time-limits.ts'

/** A start that ran out of time is tried this often in all. */
const tries = 2

/** Leases a sandbox with its log folders made and its health checked; whoever gets it gives it back. */
export async function startSandbox(scene: Scene, environment: Environment): Promise<SandboxLease> {
  const limitSec = environmentStartLimitSec(environment, scene.config)
  const lease = await leaseInTime(scene, environment, limitSec)
  try {
    await makeLogFolders(scene, lease)
    if (environment.healthcheck) await waitUntilHealthy(lease, environment.healthcheck, scene)
    return lease
  } catch (error) {
    await giveBack(lease, scene.log)
    throw error
  }
}

async function leaseInTime(scene: Scene, environment: Environment, limitSec: number): Promise<SandboxLease> {
  for (let attempt = 1; attempt <= tries; attempt++) {
    const lease = await leaseOnce(scene, environment, limitSec)
    if (lease !== expired) return lease
    scene.log(`sandbox did not start within ${limitSec} s (try ${attempt} of ${tries})`)
  }
  const code = 'EnvironmentStartTimeoutError'
  throw new BoundaryError('sandbox', `the sandbox did not start within ${limitSec} s, tried ${tries} times`, { code })
}

async function leaseOnce(
  scene: Scene,
  environment: Environment,
  limitSec: number,
): Promise<SandboxLease | typeof expired> {
  const { provider, signal, log } = scene
  const asked: Promise<SandboxLease>[] = []
  const answered = await atBoundary('sandbox', signal, () =>
    withDeadline(limitSec, signal, async (signal) => {
      const lease = provider.lease({ ...requestFor(scene, environment), signal, log })
      asked.push(lease)
      return lease
    }),
  ).catch(async (error: unknown) => {
    await Promise.all(asked.map((lease) => giveBackLate(lease, log)))
    throw error
  })
  if (answered === expired) await Promise.all(asked.map((lease) => giveBackLate(lease, log)))
  return answered
}

function requestFor(scene: Scene, environment: Environment) {
  const { config, hostEnv } = scene
  return {
    owner: { job: scene.jobName, trial: config.trialName },
    environment: { ...environment, env: resolveEnv(environment.env, hostEnv) },
    env: resolveEnv(config.environment.env, hostEnv),
    forceBuild: config.environment.forceBuild,
  }
}

const logFolders = [sandboxPaths.agentLogs, sandboxPaths.verifierLogs, sandboxPaths.artifacts].join(' ')

/** Any user of the task may write logs. */
async function makeLogFolders(scene: Scene, lease: SandboxLease): Promise<void> {
  const script = `mkdir -p ${logFolders} && chmod 777 ${logFolders}`
  await atBoundary('sandbox', scene.signal, async () => {
    const { exitCode, stderr } = await lease.exec(['sh', '-c', script], {
      user: 'root',
      signal: scene.signal,
      timeoutSec: 60,
    })
    if (exitCode !== 0) throw new Error(`the log folders could not be made: ${stderr.trim()}`)
  })
}
