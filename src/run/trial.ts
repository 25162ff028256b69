import { join } from 'node:path'
import type { Agent } from '../core/agent.ts'
import { BoundaryError } from '../core/errors.ts'
import type { TrialConfig } from '../core/job.ts'
import type { Judge } from '../core/judge.ts'
import type { ModelClient } from '../core/model.ts'
import type { SandboxLease, SandboxProvider, ToolDir } from '../core/sandbox.ts'
import type { Environment, Task } from '../core/task.ts'
import {
  describeEnd,
  type TrialEnd,
  type TrialEvent,
  type TrialEventName,
  type TrialHook,
  type TrialRecord,
} from '../core/trial.ts'
import { expired, withDeadline } from '../lib/deadline.ts'
import { utcNow } from '../lib/time.ts'
import type { ExchangeFiles } from '../store/exchange-files.ts'
import { watchShortage } from './exhausted.ts'
import type { Resumption } from './replay/resumption.ts'
import { findToolDirs, prepareAgent } from './trial/agent-phase.ts'
import { asTrial, atBoundary, bestEffort, neverAborted, releaseSandbox, releaseSec, settle } from './trial/boundary.ts'
import { type AgentTrial, type HostEnv, type SecondRun, wholeTask } from './trial/context.ts'
import { acceptableEnvironment, makePhaseNetwork, type SandboxAlternatives } from './trial/environment.ts'
import { makeMask } from './trial/mask.ts'
import { runRound, timed } from './trial/round.ts'
import { startSandbox } from './trial/start-sandbox.ts'
import { runSteps } from './trial/steps.ts'
import { makeRecorder, openTrialLog } from './trial/trial-log.ts'
import { makeRecord, maskEnd, startNotes, type TrialNotes } from './trial/trial-record.ts'

export type { HostEnv } from './trial/context.ts'
export type { SandboxAlternatives } from './trial/environment.ts'

export interface TrialRequest {
  readonly task: Task
  /** Fresh for this trial. */
  readonly agent: Agent
  /** The agent's model; none by default. */
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
  /** A recording of an interrupted attempt, to be replayed. */
  readonly resumption?: Resumption | undefined
  /** For tasks judged by a model. */
  readonly judge?: Judge | undefined
  /** Default `always`. */
  readonly secondRun?: SecondRun | undefined
  /** How many seconds releasing the sandbox may take; default 20. */
  readonly releaseSec?: number
}

/**
 * Runs one trial from sandbox to score. It always returns a record: scored, failed with the boundary to blame, or
 * cancelled. The sandbox is released before it returns. It throws only for a bug of ours.
 */
export async function runTrial(request: TrialRequest): Promise<TrialRecord> {
  const mask = makeMask(request.config, request.hostEnv)
  const record = request.client ? (await recording()).openExchangeFiles : () => noExchanges
  const log = openTrialLog(join(request.dir, 'trial.log'), mask)
  const exchanges = record(mask, (line) => log.write(line))
  const context: AgentTrial = {
    releaseSec,
    client: null,
    ...request,
    exchanges,
    mask,
    log: (line) => log.write(line),
    announce: makeAnnouncer(request),
  }
  const notes = startNotes()
  try {
    context.log(`trial ${request.config.trialName}: task ${request.task.name}, agent ${request.agent.name}`)
    const end = await settle(request.signal, async () => {
      await atBoundary('store', request.signal, () => log.ready)
      const phases = () => runPhases(context, notes, request.alternatives)
      return usesImportedCode(request.config) ? asTrial(request.config.trialName, context.log, phases) : phases()
    })
    context.log(describeEnd(end))
    if (end.kind === 'cancelled') await afterwards(context, 'hooks', () => context.announce('trial-cancel'))
    return await conclude(context, makeRecord(request, notes, maskEnd(end, mask)))
  } finally {
    await afterwards(context, 'exchanges', () => exchanges.close())
    await afterwards(context, 'trial.log', () => log.close())
  }
}

/** Jobs with models load it before their first trial. */
const recording = () => import('../store/exchange-files.ts')

/** An agent without a model has no calls to record. */
const noExchanges: ExchangeFiles = {
  recorded: (client) => client,
  mark: () => {},
  refused: () => {},
  close: async () => {},
}

/**
 * Whether it can leave behind errors from imported code. Tracking those through every promise costs a twentieth of a
 * short trial.
 */
function usesImportedCode({ agent, environment }: TrialConfig): boolean {
  return agent.importPath !== null || environment.importPath !== null
}

async function runPhases(context: AgentTrial, notes: TrialNotes, alternatives: SandboxAlternatives): Promise<TrialEnd> {
  context.signal.throwIfAborted()
  await context.announce('trial-start')
  const environment = await acceptableEnvironment(context.task, context.config, context.provider, alternatives)
  const { record } = makeRecorder(context.log)
  const toolDirs = await findToolDirs(context, record)
  await context.announce('environment-start')
  const setStart = (span: TrialNotes['environmentSetup']) => {
    notes.environmentSetup = span
  }
  const lease = await timed(setStart, () => startSandbox(context, environment, toolDirs))
  notes.sandbox = lease.facts
  for (const line of lease.facts.notes) context.log(`sandbox: ${line}`)
  if (!context.config.environment.delete) context.log('the sandbox is released anyway: delete = false is ignored')
  const shortage = watchShortage(context.provider)
  try {
    const end = await runInSandbox(context, lease, { toolDirs, environment, notes })
    const exhausted = shortage.met()
    if (exhausted) throw exhausted
    return end
  } finally {
    shortage.stop()
    await releaseSandbox(lease, context)
  }
}

interface SandboxPhases {
  readonly toolDirs: readonly ToolDir[]
  readonly environment: Environment
  readonly notes: TrialNotes
}

async function runInSandbox(
  context: AgentTrial,
  lease: SandboxLease,
  { toolDirs, environment, notes }: SandboxPhases,
): Promise<TrialEnd> {
  const setSetup = (span: TrialNotes['agentSetup']) => {
    notes.agentSetup = span
  }
  const { record } = makeRecorder(context.log)
  await timed(setSetup, () => prepareAgent(context, lease, { toolDirs, round: wholeTask(context), record }))
  const bench = { lease, network: makePhaseNetwork(lease, environment.network, context.signal) }
  if (context.task.steps.length > 0) return runSteps(context, bench, notes)
  await runRound(context, bench, wholeTask(context), notes.round)
  return { kind: 'scored', rewards: notes.round.rewards, exit: notes.round.exit ?? { kind: 'finished' } }
}

/** Tells the hooks that the trial is over; if one throws, a trial that had a score fails. */
async function conclude(context: AgentTrial, record: TrialRecord): Promise<TrialRecord> {
  if (record.end.kind !== 'scored') {
    await afterwards(context, 'hooks', () => context.announce('trial-end', record))
    return record
  }
  const end = await settle(neverAborted(), async () => {
    await context.announce('trial-end', record)
    return record.end
  })
  return { ...record, end }
}

/**
 * Runs work that must happen even after a cancel and must not change the ending: a full disk is noticed again when the
 * record is written.
 */
async function afterwards(context: AgentTrial, what: string, work: () => Promise<void>): Promise<void> {
  await bestEffort(what, 20, { log: context.log, signal: neverAborted() }, work).catch(() => {})
}

const hookSec = 300

interface About {
  readonly hooks: readonly TrialHook[]
  readonly config: TrialConfig
  readonly task: { readonly name: string }
  readonly signal: AbortSignal
}

/** Notifies every hook of a trial's events, one after the other; if one throws, the trial fails. */
function makeAnnouncer({ hooks, config, task, signal }: About) {
  return async (event: TrialEventName, record?: TrialRecord): Promise<void> => {
    const about = { event, trialName: config.trialName, taskName: task.name, config, timestamp: utcNow() }
    const until = event === 'trial-cancel' || event === 'trial-end' ? neverAborted() : signal
    for (const hook of hooks) await callHook(hook, { ...about, ...(record && { record }) }, until)
  }
}

async function callHook(hook: TrialHook, event: TrialEvent, signal: AbortSignal): Promise<void> {
  const details = { code: 'HookError' }
  const done = await atBoundary('store', signal, () => withDeadline(hookSec, signal, async () => hook(event)), details)
  if (done !== expired) return
  throw new BoundaryError('store', `a hook for ${event.event} did not return within ${hookSec} s`, details)
}
