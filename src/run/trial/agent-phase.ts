import { mkdir } from 'node:fs/promises'
import type { AgentAt, AgentExit, Recorder } from '../../core/agent.ts'
import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import type { SandboxLease, ToolDir } from '../../core/sandbox.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { atBoundary } from './boundary.ts'
import { hearReplies } from './heard-replies.ts'
import { lend } from './lend.ts'
import { isGone, sandboxGone } from './sandbox-gone.ts'
import { agentDirOf, type Play, type Round, type Scene } from './scene.ts'
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
  const heard = scene.client && hearReplies(modelOf(scene, scene.client, round))
  const conclude = (exit: AgentExit) => heard?.conclude(exit, scene.agent, record) ?? exit
  const listening = heard ? { ...scene, client: heard.client } : scene
  const exit = await unlessDiverged(listening, (scene) =>
    withAgent(scene, lease, round, record, limitSec, (at) => scene.agent.solve(at)),
  )
  if (exit !== expired) return conclude(exit)
  scene.log(`agent ran out of time after ${limitSec} s`)
  return conclude({ kind: 'limit', limit: 'time' })
}

/** The model, or what it replied to an interrupted attempt and then the model. */
function modelOf({ resumption, log }: Play, client: ModelClient, round: Round): ModelClient {
  return resumption?.client(round.step?.name ?? null, client, log) ?? client
}

/** Stops an agent whose replay diverged; what it did after that counts for nothing. */
async function unlessDiverged<T>(scene: Play, work: (scene: Play) => Promise<T>): Promise<T> {
  const { resumption, signal } = scene
  if (!resumption) return work(scene)
  const diverged = () => {
    const message = 'the replay of an interrupted attempt diverged'
    return new BoundaryError('agent', message, { code: 'ReplayDivergedError', retryable: false })
  }
  try {
    const done = await work({ ...scene, signal: AbortSignal.any([signal, resumption.signal]) })
    if (resumption.signal.aborted) throw diverged()
    return done
  } catch (error) {
    throw resumption.signal.aborted && !signal.aborted ? diverged() : error
  }
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
  const logsDir = agentDirOf(round)
  const deadline = limitSec === null ? null : new Date(Date.now() + limitSec * 1000)
  try {
    await atBoundary('store', scene.signal, () => mkdir(logsDir, { recursive: true }))
    const done = await atBoundary('agent', scene.signal, () =>
      withDeadline(limitSec, scene.signal, async (signal) =>
        call({ ...agentView(scene, round, logsDir), sandbox: loan.sandbox, signal, deadline, logsDir, record }),
      ),
    )
    // An agent may take it for a failed command, and give up.
    const exhausted = loan.exhausted()
    if (exhausted) throw exhausted
    return done
  } catch (error) {
    throw loan.exhausted() ?? (await diedUnderneath(scene, lease, error)) ?? error
  } finally {
    loan.takeBack()
  }
}

function agentView(scene: Play, round: Round, logsDir: string) {
  const { task, config, client, exchanges } = scene
  return {
    task,
    step: round.step && { name: round.step.name, dir: round.step.dir },
    instruction: round.instruction,
    user: round.agent.user,
    model: config.agent.modelName,
    client: client && exchanges.recorded(client, logsDir),
    env: resolveEnv(config.agent.env, scene.hostEnv),
    mcpServers: task.environment.mcpServers,
    mask: scene.mask,
  }
}

/** An agent that fails because its sandbox is gone is not to blame. */
async function diedUnderneath(scene: Scene, lease: SandboxLease, error: unknown): Promise<BoundaryError | null> {
  if (scene.signal.aborted || !(error instanceof BoundaryError) || error.boundary !== 'agent') return null
  return (await isGone(scene, lease)) ? sandboxGone('while the agent worked', error) : null
}
