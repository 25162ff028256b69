import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { AgentConfig, JobConfig } from '../../core/job.ts'
import type { NamedTask } from '../../core/task.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { utcNow } from '../../lib/time.ts'
import {
  createJobDir,
  isFinished,
  type JobDir,
  type JobFile,
  type Layout,
  loadJobDir,
  loadJobSettings,
  type NewJob,
} from '../../store/job-dir.ts'
import { readOwner } from '../../store/job-owner.ts'
import { openTrialStore } from '../../store/open-store.ts'
import {
  agentsIn,
  differences,
  type Fingerprint,
  identityOf,
  type JobIdentity,
  noFingerprint,
  parseIdentity,
} from './identity.ts'
import { type JobTask, type PlannedTrial, planTrials } from './plan.ts'

export interface JobToOpen {
  readonly config: JobConfig
  /**
   * Whether the user chose the name; if it is only a timestamp, an interrupted job with the same content takes
   * precedence.
   */
  readonly named: boolean
  readonly tasks: readonly JobTask<NamedTask>[]
  /** Digests of user code that the job runs, by import path. */
  readonly imports?: Readonly<Record<string, string>>
  /** Marks hidden values, so that a changed one is noticed (default: they are not compared). */
  readonly fingerprint?: Fingerprint
  /** How to lay out its trials; null keeps an existing layout, and means trial directories for a new job. */
  readonly layout: Layout | null
  /**
   * True to continue a job of the same content even when all its trials have finished, instead of running them again.
   */
  readonly takesFinished?: boolean
  /** The command line, for the lock. */
  readonly invocation: readonly string[]
}

/** A job whose directory exists, with everything known before its first trial. */
export interface OpenedJob {
  readonly dir: string
  readonly id: string
  readonly config: JobConfig
  readonly layout: Layout
  readonly startedAt: string
  readonly plan: readonly PlannedTrial<NamedTask>[]
  readonly continued: boolean
}

/**
 * Finds the directory that this job continues, or makes a new one after a last check. Refuses another job's directory.
 */
export async function openJob(job: JobToOpen, check: () => Promise<unknown> = async () => {}): Promise<OpenedJob> {
  checkName(job.config.jobName)
  const identity = identityOf(
    job.config,
    job.tasks.map(({ task }) => task),
    job.imports,
    job.fingerprint ?? noFingerprint,
  )
  const dir = resolve(job.config.jobsDir, job.config.jobName)
  if (job.named && (await exists(dir))) return continueOwnJob(job, await ownJob(dir, identity))
  const earlier = job.named ? null : await findEarlier(job, identity)
  if (earlier) return continueJob(job, earlier)
  await check()
  return createJob(job, identity)
}

function checkName(name: string): void {
  if (/^[^./\\][^/\\\0]*$/.test(name)) return
  throw new UserError(
    `--job-name: expected a name for a directory, got ${JSON.stringify(name)}`,
    'without slashes, and not starting with a dot',
  )
}

async function ownJob(dir: string, identity: JobIdentity): Promise<OwnJob> {
  const { own, ...there } = await loadJobSettings(dir)
  const before = own && parseIdentity(own.identity)
  if (!before) {
    const maker = own ? 'by another version of ot-agent' : 'by Harbor, not by ot-agent'
    throw new UserError(`${dir}: this job was made ${maker}`, 'choose another --job-name')
  }
  const changes = differences(before, identity)
  if (changes.length === 0) return { ...there, own }
  const more = changes.length > 5 ? `; and ${changes.length - 5} more` : ''
  throw new UserError(
    `${dir}: expected the same job, found a different one: ${changes.slice(0, 5).join('; ')}${more}`,
    'choose another --job-name, or go back to the old settings to continue that job',
  )
}

/** The newest job with the same content that no process is running; finished ones only if requested. */
async function findEarlier({ config, takesFinished }: JobToOpen, identity: JobIdentity): Promise<JobDir | null> {
  const { jobsDir } = config
  const entries = await readdir(jobsDir, { withFileTypes: true }).catch(() => [])
  const found: JobDir[] = []
  for (const entry of entries) {
    const dir = resolve(jobsDir, entry.name)
    if (!entry.isDirectory() || entry.name.startsWith('.') || !(await isSameJob(dir, identity))) continue
    const job = await loadJobDir(dir)
    const owner = await readOwner(dir)
    if ((takesFinished || !isFinished(job)) && (owner === null || owner.liveness === 'dead')) found.push(job)
  }
  return found.sort((a, b) => ((a.own?.startedAt ?? '') < (b.own?.startedAt ?? '') ? 1 : -1))[0] ?? null
}

/** Reads only job.json: the other files of many finished jobs are large. */
async function isSameJob(dir: string, identity: JobIdentity): Promise<boolean> {
  const text = await readTextIfExists(join(dir, 'job.json')).catch(() => null)
  if (text === null) return false
  try {
    const before = parseIdentity(Object(readJson(text)).identity)
    return before !== null && differences(before, identity).length === 0
  } catch {
    return false
  }
}

/** Continues under the old name and in the old layout, with any changed settings that do not affect the identity. */
export async function continueJob(job: JobToOpen, there: JobDir): Promise<OpenedJob> {
  const { own } = there
  return own ? continueOwnJob(job, { ...there, own }) : continueHarborJob(job, there)
}

/** A job made by ot-agent, without its result. */
type OwnJob = Omit<JobDir, 'result' | 'own'> & { readonly own: JobFile }

function continueOwnJob(job: JobToOpen, there: OwnJob): OpenedJob {
  if (job.layout !== null && job.layout !== there.layout)
    throw new UserError(
      `--store: expected ${there.layout}, the layout of the job in ${there.dir}, got ${job.layout}`,
      `remove --store, or convert the job with jobs ${job.layout === 'packed' ? 'pack' : 'unpack'} first`,
    )
  const { id, startedAt } = there.own
  const config = { ...job.config, jobName: there.name }
  const keys = agentsIn(there.own.identity)
  const plan = planTrials(
    config,
    { jobId: id, trialsDir: there.dir },
    job.tasks,
    keys?.length === config.agents.length ? keys : undefined,
  )
  return { dir: there.dir, id, config, layout: there.layout, startedAt, plan, continued: true }
}

/** A job that Harbor started: its trials have random names, so finished ones are matched by task and agent. */
async function continueHarborJob(job: JobToOpen, there: JobDir): Promise<OpenedJob> {
  const { result } = there
  if (!result)
    throw new UserError(`${there.dir}: expected the result.json of a job, found none`, 'run its tasks as a new job')
  const config = { ...job.config, jobName: there.name }
  const agents = new Set(config.agents.map((agent) => endedKey(null, agent)))
  if (agents.size < config.agents.length)
    throw new UserError(
      `${there.dir}: expected agents that differ in name or model, found some that differ in options only`,
      'run its tasks as a new job: its trials cannot be assigned to agents',
    )
  const ended = await namesOfEnded(there)
  const plan = planTrials(config, { jobId: result.id, trialsDir: there.dir }, job.tasks).map((trial) => {
    const name = ended.get(endedKey(trial.config.task.path, trial.config.agent))?.shift()
    return name === undefined ? trial : { ...trial, name, config: { ...trial.config, trialName: name } }
  })
  const { id, startedAt } = result
  return { dir: there.dir, id, config, layout: there.layout, startedAt, plan, continued: true }
}

/** The names of trials that have a record, by task and agent. */
async function namesOfEnded({ dir, layout }: JobDir): Promise<Map<string, string[]>> {
  const names = new Map<string, string[]>()
  const store = await openTrialStore(dir, layout)
  try {
    for await (const { name, config } of store.records()) {
      const key = endedKey(config.task.path, config.agent)
      names.set(key, [...(names.get(key) ?? []), name])
    }
  } finally {
    await store.close()
  }
  return names
}

function endedKey(taskPath: string | null, { name, importPath, modelName }: AgentConfig): string {
  return JSON.stringify([taskPath && resolve(taskPath), name, importPath, modelName])
}

async function createJob(job: JobToOpen, identity: JobIdentity): Promise<OpenedJob> {
  const id = randomUUID()
  const startedAt = utcNow()
  const { tasks } = job
  const layout = job.layout ?? 'harbor'
  for (let nth = 1; ; nth++) {
    const jobName = nth === 1 ? job.config.jobName : `${job.config.jobName}-${nth}`
    const config = { ...job.config, jobName }
    const dir = resolve(config.jobsDir, jobName)
    if (!job.named && (await exists(dir))) continue
    const plan = planTrials(config, { jobId: id, trialsDir: dir }, tasks, identity.agents)
    try {
      await createJobDir(dir, { id, identity, startedAt, layout, config, lock: lockOf(job, plan, startedAt) })
      return { dir, id, config, layout, startedAt, plan, continued: false }
    } catch (error) {
      // Another process took the same timestamp as its name a moment earlier.
      if (job.named || !(await exists(dir))) throw error
    }
  }
}

function lockOf({ config, invocation }: JobToOpen, plan: OpenedJob['plan'], createdAt: string): NewJob['lock'] {
  const trials = plan.map(({ task, config: { task: asked, timeoutMultipliers, agent, environment, verifier } }) => ({
    task: {
      name: task.name,
      type: 'local' as const,
      digest: task.digests.content,
      source: asked.source,
      path: task.dir,
      gitUrl: null,
      gitCommitId: null,
    },
    timeoutMultipliers,
    agent,
    environment,
    verifier,
  }))
  return { createdAt, invocation, nConcurrentTrials: config.nConcurrentTrials, retry: config.retry, trials }
}
