import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentAt, AgentExit, Recorder } from '../../core/agent.ts'
import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { SandboxLease, ToolDir } from '../../core/sandbox.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { atBoundary, bestEffort } from './boundary.ts'
import { lend } from './lend.ts'
import type { Play, Round, Scene } from './scene.ts'
import { agentLimitSec, agentSetupLimitSec } from './time-limits.ts'

/** Lets the agent find or install what its sandboxes share; no sandbox waits meanwhile. */
export async function findToolDirs(scene: Play, record: Recorder): Promise<readonly ToolDir[]> {
  const { agent, signal } = scene
  const limitSec = agentSetupLimitSec(scene.config)
  const found = await atBoundary('agent', signal, () =>
    withDeadline(limitSec, signal, async (signal) => (await agent.toolDirs?.({ signal, record })) ?? []),
  )
  if (found === expired) throw notReady(scene, limitSec)
  return found
}

/** Lets the agent make its sandbox ready; too slow is a failure here, because nothing was solved yet. */
export async function prepareAgent(
  scene: Play,
  lease: SandboxLease,
  toolDirs: readonly ToolDir[],
  round: Round,
  record: Recorder,
): Promise<void> {
  const { agent, provider } = scene
  const toUpload = provider.can.toolDirs ? [] : toolDirs
  if (!agent.prepare && toUpload.length === 0) return
  const limitSec = agentSetupLimitSec(scene.config)
  const done = await withAgent(scene, lease, round, record, limitSec, async (at) => {
    for (const { source, target } of toUpload) await at.sandbox.uploadDir(source, target)
    await agent.prepare?.(at)
  })
  if (done === expired) throw notReady(scene, limitSec)
}

function notReady({ agent }: Play, limitSec: number | null): BoundaryError {
  const code = 'AgentSetupTimeoutError'
  return new BoundaryError('agent', `agent ${agent.name} was not ready within ${limitSec} s`, { code })
}

/** Lets the agent work. Running out of time is an exit like any other: its work is verified as it stands. */
export async function solve(scene: Play, lease: SandboxLease, round: Round, record: Recorder): Promise<AgentExit> {
  const limitSec = agentLimitSec(round.agent, scene.config)
  const exit = await withAgent(scene, lease, round, record, limitSec, (at) => scene.agent.solve(at))
  if (exit !== expired) return exit
  scene.log(`agent ran out of time after ${limitSec} s`)
  return { kind: 'limit', limit: 'time' }
}

/** One call of the agent, with a sandbox that is taken back as soon as the call or its time is over. */
async function withAgent<T>(
  scene: Play,
  lease: SandboxLease,
  round: Round,
  record: Recorder,
  limitSec: number | null,
  call: (at: AgentAt) => Promise<T>,
): Promise<T | typeof expired> {
  const loan = lend(lease)
  const logsDir = join(round.dir, 'agent')
  const deadline = limitSec === null ? null : new Date(Date.now() + limitSec * 1000)
  try {
    await atBoundary('store', scene.signal, () => mkdir(logsDir, { recursive: true }))
    return await atBoundary('agent', scene.signal, () =>
      withDeadline(limitSec, scene.signal, async (signal) =>
        call({ ...agentView(scene, round), sandbox: loan.sandbox, signal, deadline, logsDir, record }),
      ),
    )
  } catch (error) {
    throw (await diedUnderneath(scene, lease, error)) ?? error
  } finally {
    loan.takeBack()
  }
}

function agentView(scene: Play, round: Round) {
  const { task, config } = scene
  return {
    task,
    step: round.step && { name: round.step.name, dir: round.step.dir },
    instruction: round.instruction,
    user: round.agent.user,
    model: config.agent.modelName,
    client: scene.client,
    env: resolveEnv(config.agent.env, scene.hostEnv),
    mcpServers: task.environment.mcpServers,
  }
}

/** An agent that fails because its sandbox is gone is not to blame. */
async function diedUnderneath(scene: Scene, lease: SandboxLease, error: unknown): Promise<BoundaryError | null> {
  if (scene.signal.aborted || !(error instanceof BoundaryError) || error.boundary !== 'agent') return null
  let alive = true
  await bestEffort('is the sandbox alive', 10, scene, async () => {
    alive = await lease.alive()
  })
  return alive ? null : new BoundaryError('sandbox', 'the sandbox died while the agent worked', { cause: error })
}
