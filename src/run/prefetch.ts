import { setMaxListeners } from 'node:events'
import type { Agent } from '../core/agent.ts'
import { BoundaryError } from '../core/errors.ts'
import type { AgentConfig } from '../core/job.ts'
import type { SandboxProvider, SandboxRequest } from '../core/sandbox.ts'
import type { Environment } from '../core/task.ts'
import { expired, withDeadline } from '../lib/deadline.ts'
import type { PlannedTrial } from './job/plan.ts'
import { makeReadyTrials, type Preparation, type ReadyTrials } from './prefetch/ready-trials.ts'
import { makeWarmSandboxes } from './prefetch/warm-sandboxes.ts'
import { atBoundary } from './trial/boundary.ts'
import type { HostEnv } from './trial/context.ts'
import { environmentStartLimitSec } from './trial/context.ts'
import { acceptableEnvironment, type SandboxAlternatives } from './trial/environment.ts'
import { requestFor } from './trial/start-sandbox.ts'
import { makeRecorder } from './trial/trial-log.ts'

/** What may be prepared for trials before they run. */
export interface PrefetchSettings {
  /** How many sandboxes may be started before their trials; 0 for none. */
  readonly sandboxes: number
  /** How many environments are built at once. */
  readonly builds: number
  /** No sandbox is prefetched once all sandboxes together ask for this much. */
  readonly limit: Resources
  /**
   * The same for environments that need the same image, null for one that needs none; by default each needs its own.
   */
  readonly imageKey?: (environment: Environment) => Promise<string | null>
}

export const noPrefetch: PrefetchSettings = { sandboxes: 0, builds: 2, limit: { cpus: 0, memoryMb: 0 } }

export interface PrefetchRequest {
  readonly settings: PrefetchSettings
  readonly provider: SandboxProvider
  readonly jobName: string
  readonly nConcurrent: number
  readonly makeAgent: (config: AgentConfig) => Promise<Agent>
  readonly hostEnv: HostEnv
  readonly alternatives: SandboxAlternatives
  readonly mayStart?: () => boolean
}

/** Prepares a job's trials before they run. */
export interface Prefetch extends Pick<ReadyTrials<PlannedTrial>, 'any'> {
  /** Takes the next trial that can start, to be run with `provider`. */
  shift(): PlannedTrial
  /** The provider, which hands out prefetched sandboxes first. */
  readonly provider: SandboxProvider
  /** A running trial is waiting for its model: a good moment to start the sandboxes of the next ones. */
  idle(): void
  ended(trial: PlannedTrial): void
  /** Releases unused sandboxes and waits until no build is running. */
  close(): Promise<void>
}

/**
 * Builds the environments of the next trials in a separate queue, and starts their sandboxes while running trials wait
 * for their models, as far as processors and memory allow. A trial gets exactly the sandbox it would have leased
 * itself.
 */
export function makePrefetch(trials: readonly PlannedTrial[], request: PrefetchRequest): Prefetch {
  const { settings, provider } = request
  const over = new AbortController()
  setMaxListeners(0, over.signal)
  const room = makeRoom(settings.limit)
  const warm = makeWarmSandboxes(provider)
  const failures = new Map<string, Error>()
  let closing: Promise<void> | undefined
  const ready = makeReadyTrials(trials, {
    window: Math.max(request.nConcurrent, settings.sandboxes) + settings.builds,
    atOnce: settings.builds,
    find: (trial) => preparationOf(trial, request),
    signal: over.signal,
  })
  const lease = (asked: SandboxRequest) => {
    const failure = failures.get(asked.owner.trial)
    failures.delete(asked.owner.trial)
    return failure ? Promise.reject(failure) : warm.lease(asked)
  }
  return {
    any: ready.any,
    provider: { ...whole(provider), lease },
    shift: () => {
      const { trial, failure } = ready.shift()
      if (failure) failures.set(trial.name, failure)
      room.enter(trial.name, resourcesOf(trial))
      return trial
    },
    idle: () => {
      if (over.signal.aborted || request.mayStart?.() === false) return
      for (const trial of ready.ready()) {
        if (warm.count >= settings.sandboxes) return
        if (warm.has(trial.name)) continue
        if (!room.fits(resourcesOf(trial))) return
        room.enter(trial.name, resourcesOf(trial))
        warm.start(trial.name, () => askFor(trial, request, over.signal))
      }
    },
    ended: ({ name }) => {
      failures.delete(name)
      room.leave(name)
    },
    close: () => {
      over.abort()
      closing ??= Promise.all([warm.close(), ready.settled()]).then(() => {})
      return closing
    },
  }
}

/** A provider with its methods bound to it, so that one of them can be replaced. */
function whole(provider: SandboxProvider): SandboxProvider {
  const { name, can, remote, needs, dirs } = provider
  return {
    name,
    can,
    ...(remote !== undefined && { remote }),
    ...(needs !== undefined && { needs }),
    ...(dirs && { dirs }),
    preflight: (how) => provider.preflight(how),
    lease: (request) => provider.lease(request),
    reap: (options) => provider.reap(options),
    ...(provider.prepare && { prepare: provider.prepare.bind(provider) }),
    ...(provider.isPrepared && { isPrepared: provider.isPrepared.bind(provider) }),
  }
}

async function askFor(
  { task, config }: PlannedTrial,
  request: PrefetchRequest,
  signal: AbortSignal,
): Promise<SandboxRequest> {
  const environment = await acceptableEnvironment(task, config, request.provider, request.alternatives)
  const agent = await request.makeAgent(config.agent)
  const toolDirs = (await agent.toolDirs?.({ signal, record: makeRecorder(() => {}).record })) ?? []
  return { ...requestFor({ ...request, config }, environment), toolDirs }
}

/** How to build what a trial's environment needs; null when there is nothing to build, or the trial cannot run anyway. */
async function preparationOf({ task, config }: PlannedTrial, request: PrefetchRequest): Promise<Preparation | null> {
  const { provider, settings, hostEnv, jobName } = request
  if (!provider.prepare) return null
  const environment = await acceptableEnvironment(task, config, provider, request.alternatives).catch(() => null)
  if (environment === null) return null
  const key = await (settings.imageKey ?? ownKey)(environment).catch(() => ownKey(environment))
  if (key === null) return null
  const asked = requestFor({ config, hostEnv, jobName }, environment)
  const limitSec = environmentStartLimitSec(environment, config)
  const prepare = async (signal: AbortSignal) => {
    const done = await atBoundary('sandbox', signal, () =>
      withDeadline(limitSec, signal, async (signal) =>
        provider.prepare?.(asked.environment, { signal, forceBuild: asked.forceBuild ?? false }),
      ),
    )
    if (done !== expired) return
    const code = 'EnvironmentStartTimeoutError'
    throw new BoundaryError('sandbox', `the environment was not built within ${limitSec} s`, { code })
  }
  return { key, prepare }
}

async function ownKey({ dir, dockerImage }: Environment): Promise<string> {
  return JSON.stringify([dir, dockerImage ?? null])
}

/** The resources that sandboxes ask for. */
interface Resources {
  readonly cpus: number
  readonly memoryMb: number
}

/** What a sandbox is assumed to need when its task does not say. */
const unsaid: Resources = { cpus: 1, memoryMb: 2048 }

/** What a trial's sandbox asks for; the job's overrides win. */
export function resourcesOf({ task: { environment }, config }: Pick<PlannedTrial, 'task' | 'config'>): Resources {
  const { overrideCpus, overrideMemoryMb } = config.environment
  return {
    cpus: overrideCpus ?? environment.cpus ?? unsaid.cpus,
    memoryMb: overrideMemoryMb ?? environment.memoryMb ?? unsaid.memoryMb,
  }
}

/**
 * Adds up what sandboxes ask for. Running sandboxes are counted even if there is no room; only prefetched ones wait for
 * room.
 */
interface Room {
  fits(asked: Resources): boolean
  /** Counts a trial's sandbox; one already counted is not counted twice. */
  enter(trial: string, asked: Resources): void
  leave(trial: string): void
}

export function makeRoom(limit: Resources): Room {
  const inside = new Map<string, Resources>()
  const total = (key: keyof Resources) => [...inside.values()].reduce((sum, asked) => sum + asked[key], 0)
  return {
    fits: (asked) => total('cpus') + asked.cpus <= limit.cpus && total('memoryMb') + asked.memoryMb <= limit.memoryMb,
    enter: (trial, asked) => void inside.set(trial, asked),
    leave: (trial) => void inside.delete(trial),
  }
}
