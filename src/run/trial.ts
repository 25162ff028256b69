import { join } from 'node:path'
import type { Agent } from '../core/agent.ts'
import type { TrialConfig } from '../core/job.ts'
import type { Judge } from '../core/judge.ts'
import type { ModelClient } from '../core/model.ts'
import type { SandboxLease, SandboxProvider, ToolDir } from '../core/sandbox.ts'
import type { Environment, Task } from '../core/task.ts'
import type { TrialEnd, TrialHook, TrialRecord } from '../core/trial.ts'
import { openExchangeFiles } from '../store/exchange-files.ts'
import type { Resumption } from './replay/resumption.ts'
import { findToolDirs, prepareAgent } from './trial/agent-phase.ts'
import { atBoundary, bestEffort, neverAborted, settle } from './trial/boundary.ts'
import { acceptableEnvironment, type SandboxAlternatives } from './trial/environment.ts'
import { giveBack, giveBackSec } from './trial/give-back.ts'
import { makeAnnouncer } from './trial/hooks.ts'
import { makeMask } from './trial/mask.ts'
import { makePhaseNetwork } from './trial/phase-network.ts'
import { makeRecorder } from './trial/recorder.ts'
import { runRound, timed } from './trial/round.ts'
import { type HostEnv, type Play, type SecondRun, wholeTask } from './trial/scene.ts'
import { watchShortage } from './trial/shortage.ts'
import { startSandbox } from './trial/start-sandbox.ts'
import { runSteps } from './trial/steps.ts'
import { asTrial } from './trial/stray-errors.ts'
import { openTrialLog } from './trial/trial-log.ts'
import { describeEnd, makeRecord, maskEnd, startNotes, type TrialNotes } from './trial/trial-record.ts'

export type { SandboxAlternatives } from './trial/environment.ts'
export type { HostEnv } from './trial/scene.ts'

export interface TrialRequest {
  readonly task: Task
  /** Fresh for this trial. */
  readonly agent: Agent
  /** The agent's model; default none. */
  readonly client?: ModelClient | null
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
  readonly alternatives: SandboxAlternatives
  /** What an interrupted attempt of it recorded, to be replayed. */
  readonly resumption?: Resumption | undefined
  /** For tasks that a model judges. */
  readonly judge?: Judge | undefined
  /** Default `always`. */
  readonly secondRun?: SecondRun | undefined
  /** How long giving the sandbox back may take; default 20. */
  readonly giveBackSec?: number
}

/**
 * Runs one trial from sandbox to score. It always gives a record: scored, failed with the boundary to blame, or cancelled;
 * the sandbox is given back before it returns. Only a bug of ours throws.
 */
export async function runTrial(request: TrialRequest): Promise<TrialRecord> {
  const mask = makeMask(request.config, request.hostEnv)
  const log = openTrialLog(join(request.dir, 'trial.log'), mask)
  const exchanges = openExchangeFiles(mask, (line) => log.write(line))
  const scene: Play = {
    giveBackSec,
    client: null,
    ...request,
    exchanges,
    mask,
    log: (line) => log.write(line),
    announce: makeAnnouncer(request),
  }
  const notes = startNotes()
  try {
    scene.log(`trial ${request.config.trialName}: task ${request.task.name}, agent ${request.agent.name}`)
    const end = await settle(request.signal, async () => {
      await atBoundary('store', request.signal, () => log.ready)
      const playing = () => play(scene, notes, request.alternatives)
      return usesImportedCode(request.config) ? asTrial(request.config.trialName, scene.log, playing) : playing()
    })
    scene.log(describeEnd(end))
    if (end.kind === 'cancelled') await afterwards(scene, 'hooks', () => scene.announce('trial-cancel'))
    return await conclude(scene, makeRecord(request, notes, maskEnd(end, mask)))
  } finally {
    await afterwards(scene, 'exchanges', () => exchanges.close())
    await afterwards(scene, 'trial.log', () => log.close())
  }
}

/** Whether it can leave errors behind that are not ours. To follow those through every promise costs a twentieth of a short trial. */
function usesImportedCode({ agent, environment }: TrialConfig): boolean {
  return agent.importPath !== null || environment.importPath !== null
}

async function play(scene: Play, notes: TrialNotes, alternatives: SandboxAlternatives): Promise<TrialEnd> {
  scene.signal.throwIfAborted()
  await scene.announce('trial-start')
  const environment = await acceptableEnvironment(scene.task, scene.config, scene.provider, alternatives)
  const { record } = makeRecorder(scene.log)
  const toolDirs = await findToolDirs(scene, record)
  await scene.announce('environment-start')
  const noteStart = (span: TrialNotes['environmentSetup']) => {
    notes.environmentSetup = span
  }
  const lease = await timed(noteStart, () => startSandbox(scene, environment, toolDirs))
  notes.sandbox = lease.facts
  for (const line of lease.facts.notes) scene.log(`sandbox: ${line}`)
  if (!scene.config.environment.delete) scene.log('the sandbox is released anyway: delete = false is ignored')
  const shortage = watchShortage(scene.provider)
  try {
    const end = await playIn(scene, lease, toolDirs, environment, notes)
    const exhausted = shortage.met()
    if (exhausted) throw exhausted
    return end
  } finally {
    shortage.stop()
    await giveBack(lease, scene)
  }
}

async function playIn(
  scene: Play,
  lease: SandboxLease,
  toolDirs: readonly ToolDir[],
  environment: Environment,
  notes: TrialNotes,
): Promise<TrialEnd> {
  const noteSetup = (span: TrialNotes['agentSetup']) => {
    notes.agentSetup = span
  }
  const { record } = makeRecorder(scene.log)
  await timed(noteSetup, () => prepareAgent(scene, lease, toolDirs, wholeTask(scene), record))
  const bench = { lease, network: makePhaseNetwork(lease, environment.network, scene.signal) }
  if (scene.task.steps.length > 0) return runSteps(scene, bench, notes)
  await runRound(scene, bench, wholeTask(scene), notes.round)
  return { kind: 'scored', rewards: notes.round.rewards, exit: notes.round.exit ?? { kind: 'finished' } }
}

/** Tells the hooks that the trial is over; one that throws then fails a trial that had a score. */
async function conclude(scene: Play, record: TrialRecord): Promise<TrialRecord> {
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

/** What has to happen even after a cancel, and must not change the ending: a full disk is met again when the record is written. */
async function afterwards(scene: Play, what: string, work: () => Promise<void>): Promise<void> {
  await bestEffort(what, 20, { log: scene.log, signal: neverAborted() }, work).catch(() => {})
}
