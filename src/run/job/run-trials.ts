import { setMaxListeners } from 'node:events'
import type { Agent } from '../../core/agent.ts'
import type { AgentConfig, RetryConfig } from '../../core/job.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import { observed } from '../../core/model-replies.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { TrialEnd, TrialHook, TrialRecord } from '../../core/trial.ts'
import { sleep } from '../../lib/deadline.ts'
import { exhaustedBy, onExhaustion, patiently } from '../../lib/exhaustion.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import type { TrialStore } from '../../store/trial-store.ts'
import { fullDiskBehind, isExhausted, storeFailure } from '../exhausted.ts'
import { makePrefetch, noPrefetch, type Prefetch, type PrefetchSettings } from '../prefetch.ts'
import type { Resumption } from '../replay/resumption.ts'
import type { HostEnv } from '../trial/context.ts'
import type { SandboxAlternatives } from '../trial/environment.ts'
import { runTrial } from '../trial.ts'
import { type AtOnce, makeAtOnce, type Try } from './at-once.ts'
import type { PlannedTrial } from './plan.ts'

/** Watches the progress of a job. Must not throw. */
export interface JobWatch {
  started(trial: PlannedTrial): void
  /** A try failed and the trial will be tried again. */
  retrying(record: TrialRecord, waitSec: number): void
  /** The record is safe on disk. */
  ended(record: TrialRecord): void
  /** This machine ran out of something, and fewer trials run at once from now on. */
  reduced?(message: string): void
}

export interface TrialsRequest {
  readonly jobName: string
  readonly jobDir: string
  readonly nConcurrent: number
  readonly retry: RetryConfig
  readonly store: TrialStore
  readonly provider: SandboxProvider
  /** A fresh agent for every trial. */
  readonly makeAgent: (config: AgentConfig) => Promise<Agent>
  /** The model of a trial's agent, if it has one. */
  readonly clientFor?: (agent: AgentConfig, trial: string) => ModelClient | null
  /** For tasks judged by a model: a judge whose calls are charged to the trial. */
  readonly judgeFor?: ((trial: string) => Judge) | undefined
  /**
   * What may be prepared for trials before they run; by default only builds, without knowing which images are equal.
   */
  readonly prefetch?: PrefetchSettings
  /** Called before each trial; false leaves this trial and all later ones for another run. */
  readonly mayStart?: () => boolean
  /** Changes how many run at once, until its signal is aborted. */
  readonly pace?: (resize: (count: number) => void, signal: AbortSignal) => Promise<void>
  /** Whether interrupted trials get the replies recorded before the interruption (default: true). */
  readonly replayInterrupted?: boolean | undefined
  readonly hooks: readonly TrialHook[]
  readonly hostEnv: HostEnv
  readonly alternatives: SandboxAlternatives
  readonly watch: JobWatch
  readonly signal: AbortSignal
}

/**
 * Runs trials in order with limited concurrency. Each ends in a committed record; an abort ends running trials as
 * cancelled and leaves the others for later. An error that makes recording impossible stops them all and is thrown.
 */
export async function runTrials(trials: readonly PlannedTrial[], request: TrialsRequest): Promise<void> {
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const signal = AbortSignal.any([request.signal, stop.signal])
  setMaxListeners(0, signal)
  const slots = new Semaphore(request.nConcurrent)
  const over = new AbortController()
  const say = (message: string) => request.watch.reduced?.(message)
  const atOnce = makeAtOnce({ asked: request.nConcurrent, resize: (count) => slots.resize(count), say })
  const stopListening = onExhaustion(atOnce.met)
  const pacing = request.pace?.(atOnce.ask, over.signal)
  const running = new Set<Promise<void>>()
  const fatal: unknown[] = []
  pacing?.catch((error: unknown) => {
    fatal.push(error)
    stop.abort()
  })
  const prefetch = makePrefetch(trials, { ...request, settings: request.prefetch ?? noPrefetch })
  signal.addEventListener('abort', () => void prefetch.close(), { once: true })
  while (await prefetch.any()) {
    const leave = await slots.acquire(signal).catch(() => null)
    if (leave === null || request.mayStart?.() === false) {
      leave?.()
      break
    }
    const trial = prefetch.shift()
    const work = runToEnd(trial, { ...request, ...prefetched(request, prefetch), signal }, { slots, atOnce }, leave)
      .catch((error: unknown) => {
        fatal.push(error)
        stop.abort()
      })
      .finally(() => {
        running.delete(work)
        prefetch.ended(trial)
      })
    running.add(work)
  }
  await Promise.all(running)
  over.abort()
  await prefetch.close()
  await pacing?.catch(() => {})
  stopListening()
  if (fatal.length > 0) throw exhaustedBy(fatal[0]) === null ? fatal[0] : storeFailure(fatal[0], request.jobDir)
}

/** Takes sandboxes from those already started; each model call is an opportunity to start more. */
function prefetched({ clientFor }: TrialsRequest, prefetch: Prefetch): Pick<TrialsRequest, 'provider' | 'clientFor'> {
  const watched = (client: ModelClient) => observed(client, { began: prefetch.idle, ended: () => {} })
  return {
    provider: prefetch.provider,
    clientFor: (agent, trial) => {
      const client = clientFor?.(agent, trial) ?? null
      return client && watched(client)
    },
  }
}

/** Runs all tries of one trial. It holds no slot while waiting for its next try. */
async function runToEnd(trial: PlannedTrial, request: TrialsRequest, room: Room, leave: () => void): Promise<void> {
  const { slots, atOnce } = room
  const starved: Try[] = []
  let leaveSlot = leave
  try {
    for (let tries = 1; ; tries++) {
      request.watch.started(trial)
      const current = atOnce.begin()
      const record = cutByBudget(await runOnce(trial, request, tries - 1), request)
      const full = await fullDiskBehind(record.end, [request.jobDir, ...(request.provider.dirs ?? [])])
      if (full) throw full
      const waitSec = waitAfter(record.end, { tries, current, starved }, request)
      if (waitSec === null) return await commit(record, request)
      request.watch.retrying(record, waitSec)
      leaveSlot()
      const next = await slotAfter(waitSec, slots, request.signal)
      if (next === null) return await commit({ ...record, end: { kind: 'cancelled' } }, request)
      leaveSlot = next
      await inStore(request, () => request.store.keepFailedTry(trial.name, tries, record))
    }
  } finally {
    leaveSlot()
  }
}

interface Room {
  readonly slots: Semaphore
  readonly atOnce: AtOnce
}

interface Tries {
  readonly tries: number
  readonly current: Try
  readonly starved: Try[]
}

/** If the machine ran out of something, the trial waits regardless of the retry limit: the trial is not to blame. */
function waitAfter(end: TrialEnd, { tries, current, starved }: Tries, { retry }: TrialsRequest): number | null {
  if (!isExhausted(end)) {
    current.ended()
    return retryWaitSec(end, tries - starved.length, retry)
  }
  const waitSec = current.failed(starved)
  starved.push(current)
  return waitSec
}

async function runOnce(trial: PlannedTrial, request: TrialsRequest, retries: number): Promise<TrialRecord> {
  const { jobName, provider, hooks, hostEnv, alternatives, signal, store } = request
  const { task, config, attempt, name } = trial
  const runInDir = async (agent: Agent, dir: string, resumption?: Resumption) => {
    const client = request.clientFor?.(config.agent, name) ?? null
    const run = { task, agent, client, provider, config, jobName, attempt, retries, dir, resumption }
    return runTrial({ ...run, signal, hooks, hostEnv, alternatives, judge: request.judgeFor?.(name) })
  }
  const dir = await inStore(request, () => store.begin(config))
  const recorded = await inStore(request, () => store.tapeOf(name))
  const makeAgent = () => patiently(() => request.makeAgent(config.agent))
  if (recorded === null) return runInDir(await makeAgent(), dir)
  const isAllowed = request.replayInterrupted ?? true
  const drop = () => inStore(request, () => store.dropTape(name))
  const startOver = () => inStore(request, () => store.startOver(config))
  const { resumeTrial } = await resuming()
  return resumeTrial(recorded, { config, hostEnv, dir, isAllowed, makeAgent, runInDir, drop, startOver, signal })
}

/**
 * Replays what interrupted attempts recorded. An existing job loads this first, while files can certainly be opened.
 */
export const resuming = () => import('./resume-trial.ts')

/** A try cut short by the job's own budget was not a fair one: the trial is left for a run with more budget. */
function cutByBudget(record: TrialRecord, { mayStart }: TrialsRequest): TrialRecord {
  const { end } = record
  const ofAgent = end.kind === 'scored' && end.exit.kind === 'limit' && end.exit.limit === 'cost'
  const ofJudge = end.kind === 'failed' && end.failure.code === 'BudgetSpentError'
  return (ofAgent || ofJudge) && mayStart?.() === false ? { ...record, end: { kind: 'cancelled' } } : record
}

/** Gets a slot after the wait; null when the job was stopped during it. */
async function slotAfter(waitSec: number, slots: Semaphore, signal: AbortSignal): Promise<(() => void) | null> {
  try {
    await sleep(waitSec * 1000, signal)
    return await slots.acquire(signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  }
}

async function commit(record: TrialRecord, request: TrialsRequest): Promise<void> {
  await inStore(request, () => request.store.commit(record))
  request.watch.ended(record)
}

/** Records can wait until other trials have ended and released their resources. */
const roundsOfPatience = 5

async function inStore<T>(request: TrialsRequest, work: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await patiently(work)
    } catch (error) {
      if (exhaustedBy(error) === null || round === roundsOfPatience) throw storeFailure(error, request.jobDir)
    }
  }
}

/**
 * How long to wait before a trial is retried, or null when its ending stands. Only failures that their boundary marks
 * as retryable are retried; a code that is both included and excluded is excluded.
 */
export function retryWaitSec(end: TrialEnd, triesSoFar: number, config: RetryConfig): number | null {
  if (end.kind !== 'failed' || triesSoFar > config.maxRetries || !end.failure.retryable) return null
  const { code } = end.failure
  if (config.exclude.includes(code) || (config.include !== null && !config.include.includes(code))) return null
  return Math.min(config.minWaitSec * config.waitMultiplier ** (triesSoFar - 1), config.maxWaitSec)
}
