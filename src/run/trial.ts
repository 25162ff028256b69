import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '../core/agent.ts'
import { BoundaryError, blame } from '../core/errors.ts'
import type { TrialConfig } from '../core/job.ts'
import type { SandboxFacts, SandboxProvider } from '../core/sandbox.ts'
import type { Task } from '../core/task.ts'
import type { Span, StepRecord, TrialEnd, TrialEvent, TrialEventName, TrialHook, TrialRecord } from '../core/trial.ts'
import { expired, withDeadline } from '../lib/deadline.ts'
import { utcNow } from '../lib/time.ts'
import { prepareAgent } from './agent-phase.ts'
import { atBoundary, bestEffort, neverAborted, settle } from './boundary.ts'
import { effectiveEnvironment, refuseUnmetNeeds, type WhoCan } from './environment.ts'
import { giveBack } from './give-back.ts'
import { makePhaseNetwork } from './phase-network.ts'
import { makeRecorder } from './recorder.ts'
import { emptyNotes, type RoundNotes, runRound, timed } from './round.ts'
import { type HostEnv, type Scene, wholeTask } from './scene.ts'
import { startSandbox } from './start-sandbox.ts'
import { runSteps } from './steps.ts'
import { openTrialLog } from './trial-log.ts'

export interface TrialRequest {
  readonly task: Task
  /** Fresh for this trial. */
  readonly agent: Agent
  readonly provider: SandboxProvider
  readonly config: TrialConfig
  readonly jobName: string
  /** Which of the job's attempts this is, from 0. */
  readonly attempt: number
  /** How many earlier tries of this trial failed. */
  readonly retries: number
  /** A host directory for the trial's files. */
  readonly dir: string
  readonly signal: AbortSignal
  readonly hooks: readonly TrialHook[]
  readonly hostEnv: HostEnv
  readonly whoCan: WhoCan
}

/** What becomes known while a trial plays, whether or not it comes to a score. */
interface Notes {
  sandbox: SandboxFacts | null
  environmentSetup: Span | null
  agentSetup: Span | null
  readonly round: RoundNotes
  readonly steps: StepRecord[]
}

const hookSec = 300

/**
 * Runs one trial from sandbox to score. It always gives a record: scored, failed with the boundary to blame, or cancelled;
 * the sandbox is given back before it returns. Only a bug of ours throws.
 */
export async function runTrial(request: TrialRequest): Promise<TrialRecord> {
  const startedAt = utcNow()
  const log = await blame('store', async () => {
    await mkdir(request.dir, { recursive: true })
    return openTrialLog(join(request.dir, 'trial.log'))
  })
  const scene: Scene = { ...request, log: log.write, announce: announcer(request) }
  const notes: Notes = { sandbox: null, environmentSetup: null, agentSetup: null, round: emptyNotes(), steps: [] }
  try {
    log.write(`trial ${request.config.trialName}: task ${request.task.name}, agent ${request.agent.name}`)
    const end = await settle(request.signal, () => play(scene, notes, request.whoCan))
    log.write(describeEnd(end))
    if (end.kind === 'cancelled') await afterwards(scene, 'hooks', () => scene.announce('trial-cancel'))
    return await concluded(scene, recordOf(request, notes, end, startedAt))
  } finally {
    await afterwards(scene, 'trial.log', () => log.close())
  }
}

async function play(scene: Scene, notes: Notes, whoCan: WhoCan): Promise<TrialEnd> {
  scene.signal.throwIfAborted()
  await scene.announce('trial-start')
  const { task, config } = scene
  const environment = await effectiveEnvironment(task.environment, config.environment)
  const separate = [task, ...task.steps].flatMap(({ verifier }) => verifier.environment ?? [])
  await refuseUnmetNeeds(task, [environment, ...separate], config, scene.provider, whoCan)
  await scene.announce('environment-start')
  const lease = await timed(
    (span) => {
      notes.environmentSetup = span
    },
    () => startSandbox(scene, environment),
  )
  notes.sandbox = lease.facts
  for (const line of lease.facts.notes) scene.log(`sandbox: ${line}`)
  try {
    await timed(
      (span) => {
        notes.agentSetup = span
      },
      () => prepareAgent(scene, lease, wholeTask(scene), makeRecorder(scene.log).record),
    )
    const bench = { lease, network: makePhaseNetwork(lease, environment.network, scene.signal) }
    if (task.steps.length > 0) return await runSteps(scene, bench, notes)
    await runRound(scene, bench, wholeTask(scene), notes.round)
    return { kind: 'scored', rewards: notes.round.rewards, exit: notes.round.exit ?? { kind: 'finished' } }
  } finally {
    await giveBack(lease, scene.log)
  }
}

/** Tells the hooks that the trial is over; one that throws then fails a trial that had a score. */
async function concluded(scene: Scene, record: TrialRecord): Promise<TrialRecord> {
  if (record.end.kind !== 'scored') {
    await afterwards(scene, 'hooks', () => scene.announce('trial-end', record))
    return record
  }
  const end = await settle(neverAborted(), async () => {
    await scene.announce('trial-end', record)
    return record.end
  })
  return { ...record, end }
}

/** What has to happen even after a cancel, and must not change the ending. */
async function afterwards(scene: Scene, what: string, work: () => Promise<void>): Promise<void> {
  await bestEffort(what, 20, { log: scene.log, signal: neverAborted() }, work)
}

function announcer({ hooks, config, task, signal }: TrialRequest): Scene['announce'] {
  return async (event: TrialEventName, record?: TrialRecord) => {
    const about = { event, trialName: config.trialName, taskName: task.name, config, timestamp: utcNow() }
    const until = event === 'trial-cancel' || event === 'trial-end' ? neverAborted() : signal
    for (const hook of hooks) await callHook(hook, { ...about, ...(record && { record }) }, until)
  }
}

async function callHook(hook: TrialHook, event: TrialEvent, signal: AbortSignal): Promise<void> {
  const details = { code: 'HookError' }
  const done = await atBoundary('store', signal, () => withDeadline(hookSec, signal, async () => hook(event)), details)
  if (done === expired)
    throw new BoundaryError('store', `a hook for ${event.event} did not return within ${hookSec} s`, details)
}

function recordOf(request: TrialRequest, notes: Notes, end: TrialEnd, startedAt: string): TrialRecord {
  const { task, config, agent } = request
  const { round, steps } = notes
  return {
    schema: 'trial/1',
    id: randomUUID(),
    name: config.trialName,
    task: {
      name: task.name,
      path: task.dir,
      source: config.task.source,
      digest: task.digests.content,
      checksum: task.digests.dirhash,
    },
    agent: { name: agent.name, version: agent.version, model: config.agent.modelName },
    attempt: request.attempt,
    config,
    end,
    isolation: round.isolation,
    bothRewardFiles: round.bothRewardFiles,
    ...round.told(),
    sandbox: notes.sandbox,
    spans: {
      environmentSetup: notes.environmentSetup,
      agentSetup: notes.agentSetup,
      agentExecution: round.agentExecution,
      verifier: round.verifier,
    },
    steps: task.steps.length > 0 ? steps : null,
    retries: request.retries,
    startedAt,
    finishedAt: utcNow(),
  }
}

function describeEnd(end: TrialEnd): string {
  if (end.kind === 'scored') return `scored ${JSON.stringify(end.rewards)}`
  if (end.kind === 'cancelled') return 'cancelled'
  return `failed at ${end.failure.boundary}: ${end.failure.code}: ${end.failure.message}`
}
