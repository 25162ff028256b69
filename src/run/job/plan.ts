import { hash } from 'node:crypto'
import type { Agent } from '../../core/agent.ts'
import { requiredHostVars } from '../../core/env-template.ts'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig, TaskConfig, TrialConfig } from '../../core/job.ts'
import { fewNeeds, type SandboxNeeds, type SandboxProvider } from '../../core/sandbox.ts'
import type { NamedTask, Task } from '../../core/task.ts'
import type { Resource } from '../../lib/exhaustion.ts'
import { type MachineLimit, readMachineLimits } from '../../lib/machine-limits.ts'
import { refuseUnknownMetrics } from '../../stats/metrics.ts'
import type { HostEnv } from '../trial/context.ts'
import { networksOf } from '../trial/environment.ts'
import { agentIdentities } from './identity.ts'

/** One of the job's tasks, loaded unless T says otherwise, with the reference by which it was requested. */
export interface JobTask<T extends NamedTask = Task> {
  readonly task: T
  readonly config: TaskConfig
}

export interface PlannedTrial<T extends NamedTask = Task> {
  readonly name: string
  readonly task: T
  readonly attempt: number
  readonly config: TrialConfig
}

/** The job that trials belong to, and where they are kept. */
interface JobPlace {
  readonly jobId: string
  readonly trialsDir: string
}

/**
 * Every trial of a job in starting order: by attempt, then task, then agent, which spreads the load over agents. `keys`
 * are the agents' identities from the job's start: they determine the names of its trials.
 */
export function planTrials<T extends NamedTask>(
  config: JobConfig,
  place: JobPlace,
  tasks: readonly JobTask<T>[],
  keys: readonly unknown[] = agentIdentities(config),
): PlannedTrial<T>[] {
  refuseTooMany(tasks.length, config)
  const namer = makeTrialNamer()
  const pairs = tasks.flatMap(({ task, config: taskConfig }) => {
    const { name: taskName, digests } = task
    const of = { jobName: config.jobName, taskName, digest: digests.content }
    return config.agents.map((agent, i) => ({ task, taskConfig, agent, nameOf: namer({ ...of, agent: keys[i] }) }))
  })
  const plan: PlannedTrial<T>[] = []
  for (let attempt = 0; attempt < config.nAttempts; attempt++) {
    for (const { task, taskConfig, agent, nameOf } of pairs) {
      const name = nameOf(attempt)
      const ofTrial = trialConfig(config, place, { task: taskConfig, agent, trialName: name })
      plan.push({ name, task, attempt, config: ofTrial })
    }
  }
  return plan
}

/** All trials of a job are planned in memory. */
const mostTrials = 10_000_000

function refuseTooMany(tasks: number, { agents, nAttempts }: JobConfig): void {
  const trials = tasks * agents.length * nAttempts
  if (trials <= mostTrials) return
  throw new UserError(
    `expected a job of at most ${mostTrials} trials, got ${trials}: ${tasks} tasks, ${agents.length} agents, ${nAttempts} attempts`,
    'ask for fewer attempts with -k, or run several jobs',
  )
}

/** The same trials with their tasks loaded; refused if a task has changed since they were planned. */
export function withTasks(trials: readonly PlannedTrial<NamedTask>[], tasks: readonly JobTask[]): PlannedTrial[] {
  const byDir = new Map(tasks.map(({ task }) => [task.dir, task]))
  return trials.map((trial) => {
    const { name, dir, digests } = trial.task
    const task = byDir.get(dir)
    if (task?.name === name && task.digests.content === digests.content) return { ...trial, task }
    throw new UserError(
      `${dir}: expected an unchanged task, but its files changed while the job started`,
      'run the same command again',
    )
  })
}

function trialConfig(
  job: JobConfig,
  { jobId, trialsDir }: JobPlace,
  { task, agent, trialName }: Pick<TrialConfig, 'task' | 'agent' | 'trialName'>,
): TrialConfig {
  const { timeoutMultipliers, environment, verifier, artifacts } = job
  return { task, trialName, trialsDir, timeoutMultipliers, agent, environment, verifier, artifacts, jobId }
}

/** Refuses a job whose templates name unset host variables, before anything starts. */
function requireHostVars(config: JobConfig, tasks: readonly JobTask[], hostEnv: HostEnv): void {
  const ofJob = [config.environment.env, config.verifier.env, ...config.agents.map((agent) => agent.env)]
  requireVars('the job', ofJob, hostEnv)
  for (const { task } of tasks) {
    const verifiers = config.verifier.disable ? [] : [task, ...task.steps].map(({ verifier }) => verifier)
    const ofTask = verifiers.flatMap(({ env, environment }) => [env, ...(environment ? [environment.env] : [])])
    requireVars(`task ${task.name}`, [task.environment.env, ...ofTask], hostEnv)
  }
}

function requireVars(who: string, envs: readonly Readonly<Record<string, string>>[], hostEnv: HostEnv): void {
  const missing = requiredHostVars(envs).filter(
    ({ name, fallback }) => fallback === null && hostEnv[name] === undefined,
  )
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name)
  throw new UserError(
    `${who} needs the host variable${names.length > 1 ? 's' : ''} ${names.join(', ')}, which ${names.length > 1 ? 'are' : 'is'} not set`,
    `set ${names.length > 1 ? 'them' : 'it'} in the environment or in a file given by --env-file`,
  )
}

/** The letters of Harbor's short ids: no 0, 1, I, O, l. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** What identifies the attempts of one agent at one task. */
interface TrialKey {
  readonly jobName: string
  readonly taskName: string
  readonly digest: string
  /** Anything that distinguishes the job's agents. */
  readonly agent: unknown
}

/** Names every trial of a job by its attempt: the same plan always gives the same names, and no name twice. */
export function makeTrialNamer(): (key: TrialKey) => (attempt: number) => string {
  const taken = new Set<string>()
  return ({ jobName, taskName, digest, agent }) => {
    const start = `${shortTaskName(taskName)}__`
    const key = JSON.stringify([jobName, taskName, digest, agent]).slice(0, -1)
    return (attempt) => {
      for (let nth = 0; ; nth++) {
        const name = start + shortId(`${key},${attempt},${nth}]`)
        if (taken.has(name)) continue
        taken.add(name)
        return name
      }
    }
  }
}

/** Shortened as Harbor does, and always a valid name for one directory that does not look hidden or half-made. */
function shortTaskName(taskName: string): string {
  const bare = taskName.slice(taskName.lastIndexOf('/') + 1)
  const short = [...bare]
    .slice(0, 32)
    .join('')
    .replace(/[_-]+$/, '')
  return short.replace(/^\.+/, '').replaceAll('\\', '-')
}

/** Seven letters from a text's digest: its first 64 bits, written with the alphabet's letters as digits. */
function shortId(text: string): string {
  const digest = hash('sha256', text, 'binary')
  let [high, low] = [numberAt(digest, 0), numberAt(digest, 4)]
  let id = ''
  for (let i = 0; i < 7; i++) {
    // In two halves, because the whole number would be too large to be exact.
    const rest = (high % alphabet.length) * 2 ** 32 + low
    id += alphabet[rest % alphabet.length]
    high = Math.floor(high / alphabet.length)
    low = Math.floor(rest / alphabet.length)
  }
  return id
}

/** Four characters of a byte string as a number. */
function numberAt(bytes: string, at: number): number {
  const low = (bytes.charCodeAt(at + 1) << 16) | (bytes.charCodeAt(at + 2) << 8) | bytes.charCodeAt(at + 3)
  return bytes.charCodeAt(at) * 2 ** 24 + low
}

interface JobToCheck {
  readonly config: JobConfig
  readonly tasks: readonly JobTask[]
  readonly provider: SandboxProvider
  readonly makeAgent: (config: AgentConfig) => Promise<Agent>
  readonly hostEnv: HostEnv
}

/** Finds anything that would make every trial fail, before anything is written or started. Throws UserError. */
export async function checkJob({ config, tasks, provider, makeAgent, hostEnv }: JobToCheck): Promise<void> {
  refuseUnknownMetrics(config.metrics)
  requireHostVars(config, tasks, hostEnv)
  for (const agent of await Promise.all(config.agents.map(makeAgent))) {
    for (const { task } of tasks) agent.check?.(task)
  }
  const trials = tasks.length * config.agents.length * config.nAttempts
  const atOnce = Math.min(config.nConcurrentTrials, trials)
  if (atOnce > 0) requireRoom(atOnce, provider.needs ?? fewNeeds, readMachineLimits())
  await provider.preflight({ networks: networksOf(tasks.map(({ task }) => task)) })
}

/** What a job needs besides its trials: its own files and sockets, builds, short-lived programs. */
const ofJob: Readonly<Partial<Record<Resource, number>>> = { 'file descriptors': 30, processes: 30 }

/** Throws a UserError when the trials that run at once need more than this machine allows. */
export function requireRoom(atOnce: number, needs: SandboxNeeds, limits: readonly MachineLimit[]): void {
  const perTrial: Partial<Record<Resource, number>> = {
    'file descriptors': needs.descriptors,
    processes: needs.processes,
  }
  for (const { resource, name, limit, free } of limits) {
    const each = perTrial[resource] ?? 0
    const rest = ofJob[resource] ?? 0
    const needed = each === 0 ? 0 : rest + each * atOnce
    if (needed <= free) continue
    const fits = Math.floor((free - rest) / each)
    throw new UserError(
      `${atOnce} concurrent trials need about ${needed} ${resource}, but ${name} is ${limit} and leaves ${Math.max(0, free)}`,
      fits > 0 ? `run at most ${fits} at a time (-n ${fits}), or raise ${name}` : `raise ${name}`,
      3,
    )
  }
}
