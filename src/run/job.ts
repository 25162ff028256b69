import type { JobResult } from '../core/job-stats.ts'
import { describeEnd, type TrialRecord } from '../core/trial.ts'
import { exhaustedBy } from '../lib/exhaustion.ts'
import { utcNow } from '../lib/time.ts'
import { type LiveStats, makeLiveStats } from '../stats/live-stats.ts'
import { appendJobLog, saveJobConfig, saveJobResult } from '../store/job-dir.ts'
import { acquireOwner } from '../store/job-owner.ts'
import { loadForTrials, openTrialStore } from '../store/open-store.ts'
import type { TrialStore } from '../store/trial-store.ts'
import { isExhausted, storeFailure } from './exhausted.ts'
import type { OpenedJob } from './job/open-job.ts'
import { type JobTask, withTasks } from './job/plan.ts'
import type { JobWatch, TrialsRequest } from './job/run-trials.ts'

/** The state of a job before its trials start. */
export interface JobStart {
  readonly job: OpenedJob
  readonly pending: number
  /** Live: it counts every trial that has ended, including those of earlier runs. */
  readonly liveStats: LiveStats
}

/** What a job's trials run with. */
export type TrialParts = Pick<
  TrialsRequest,
  | 'provider'
  | 'makeAgent'
  | 'clientFor'
  | 'judgeFor'
  | 'prefetch'
  | 'mayStart'
  | 'pace'
  | 'hooks'
  | 'hostEnv'
  | 'replayInterrupted'
  | 'alternatives'
> & {
  /** All tasks of the job, loaded. */
  readonly tasks: readonly JobTask[]
}

export interface JobRequest {
  readonly job: OpenedJob
  /**
   * Called once, before the first trial, and not at all when every trial has already ended. If it throws, the call ends
   * before anything is changed.
   */
  readonly parts: () => Promise<TrialParts>
  /**
   * Which finished trials to run again; cancelled ones, and those that failed only because the machine was exhausted,
   * always are.
   */
  readonly again?: (record: TrialRecord) => boolean
  readonly watch: (start: JobStart) => JobWatch
  readonly signal: AbortSignal
}

export interface JobOutcome {
  readonly job: OpenedJob
  readonly result: JobResult
  readonly liveStats: LiveStats
}

/**
 * Runs what is left of a job. The process may die in any way at any moment, and the same call resumes: trials with a
 * record stay, everything else is done again.
 */
export async function runJob(request: JobRequest): Promise<JobOutcome> {
  const { job } = request
  const releaseOwner = await acquireOwner(job.dir)
  try {
    const store = await openTrialStore(job.dir, job.layout)
    try {
      return await runIn(store, request)
    } finally {
      await store.close().catch((error: unknown) => Promise.reject(storeFailure(error, job.dir)))
    }
  } finally {
    // Without a descriptor the file stays; it names a process that has ended, so it does no harm.
    await releaseOwner().catch((error: unknown) => {
      if (exhaustedBy(error) === null) throw error
    })
  }
}

async function runIn(store: TrialStore, request: JobRequest): Promise<JobOutcome> {
  const { job, signal } = request
  const liveStats = makeLiveStats(job.config.metrics)
  const { pending, takenBack } = await findPending(store, liveStats, request)
  const run = pending.length > 0 ? await makeRun(pending, request) : async () => {}
  for (const name of takenBack) await store.retract(name)
  // A resumed job may have different settings, as long as they do not affect its identity.
  if (job.continued) await saveJobConfig(job.dir, job.config)
  const counts = { running: new Set<string>(), retries: 0 }
  const current = (final: boolean): JobResult => {
    const stats = liveStats.stats({
      total: job.plan.length,
      running: counts.running.size,
      retries: counts.retries,
      passAtK: final,
    })
    const finished = final && stats.completed === job.plan.length && stats.cancelled === 0
    const { id, startedAt } = job
    const updatedAt = utcNow()
    return { id, startedAt, updatedAt, finishedAt: finished ? updatedAt : null, totalTrials: job.plan.length, stats }
  }
  const writer = makeResultWriter(job.dir, current)
  const log = makeJobLog(job.dir)
  log.say(`${job.continued ? 'resuming' : 'starting'}: ${pending.length} of ${job.plan.length} trials to run`)
  const watch = joinWatches(
    counter(counts, liveStats, writer.touch),
    logger(log.say),
    request.watch({ job, pending: pending.length, liveStats }),
  )
  try {
    if (pending.length > 0) writer.touch()
    await run({ store, watch })
  } catch (error) {
    await Promise.allSettled([writer.finish(), log.end()])
    throw error
  }
  log.say(signal.aborted ? 'stopped early' : 'ends')
  await log.end()
  await writer.finish().catch((error: unknown) => Promise.reject(storeFailure(error, job.dir)))
  return { job, result: current(true), liveStats }
}

/** Prepares to run trials: loads everything they need, so that nothing loads in the middle of one. */
async function makeRun(pending: OpenedJob['plan'], { job, parts, signal }: JobRequest) {
  const { tasks, ...ready } = await parts()
  const { resuming, runTrials } = await import('./job/run-trials.ts')
  await Promise.all([loadForTrials(job.dir, job.layout), job.continued && resuming()])
  const { jobName, nConcurrentTrials: nConcurrent, retry } = job.config
  const settings = { ...ready, jobName, jobDir: job.dir, nConcurrent, retry, signal }
  const trials = withTasks(pending, tasks)
  return (place: Pick<TrialsRequest, 'store' | 'watch'>) => runTrials(trials, { ...settings, ...place })
}

/** Counts the finished trials; the rest are to be run, beginning with the retraction of those that run again. */
async function findPending(
  store: TrialStore,
  liveStats: LiveStats,
  { job, again }: JobRequest,
): Promise<{ readonly pending: OpenedJob['plan']; readonly takenBack: readonly string[] }> {
  const left = new Set(job.plan.map(({ name }) => name))
  const takenBack: string[] = []
  for await (const records of store.batches()) {
    for (const record of records) {
      if (!left.has(record.name)) continue
      if (record.end.kind === 'cancelled' || isExhausted(record.end) || again?.(record)) takenBack.push(record.name)
      else {
        left.delete(record.name)
        liveStats.add(record)
      }
    }
  }
  return { pending: left.size > 0 ? job.plan.filter(({ name }) => left.has(name)) : [], takenBack }
}

function counter(counts: { running: Set<string>; retries: number }, liveStats: LiveStats, touch: () => void): JobWatch {
  return {
    started: ({ name }) => {
      counts.running.add(name)
      touch()
    },
    retrying: ({ name }) => {
      counts.running.delete(name)
      counts.retries++
      touch()
    },
    ended: (record) => {
      counts.running.delete(record.name)
      liveStats.add(record)
      touch()
    },
  }
}

function logger(say: (line: string) => void): JobWatch {
  return {
    started: () => {},
    retrying: (record, waitSec) => say(`${record.name}: ${describeEnd(record.end)}; retrying in ${waitSec} s`),
    ended: (record) => say(`${record.name}: ${describeEnd(record.end)}`),
    reduced: say,
  }
}

function joinWatches(...watches: readonly JobWatch[]): JobWatch {
  return {
    started: (trial) => watches.forEach((watch) => void watch.started(trial)),
    retrying: (record, waitSec) => watches.forEach((watch) => void watch.retrying(record, waitSec)),
    ended: (record) => watches.forEach((watch) => void watch.ended(record)),
    reduced: (message) => watches.forEach((watch) => void watch.reduced?.(message)),
  }
}

/** job.log is for people: a failed write stops nothing. */
function makeJobLog(dir: string) {
  let writing = Promise.resolve()
  const say = (line: string) => {
    const text = `${utcNow()} ${line.replaceAll(/[\r\n]+/g, ' | ').slice(0, 2000)}`
    writing = writing.then(() => appendJobLog(dir, text)).catch(() => {})
  }
  return { say, end: () => writing }
}

/** The minimum interval between two writes, which is also at least twenty times the duration of the last one. */
const leastMs = 1000
const patience = 20

/** Keeps result.json up to date while a job runs, without constantly writing a large file. */
interface ResultWriter {
  /** Something changed; it will be written soon. */
  touch(): void
  /** Writes the final state and stops. Throws if no write succeeded, with the cause. */
  finish(): Promise<void>
}

function makeResultWriter(jobDir: string, current: (final: boolean) => JobResult): ResultWriter {
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  let waitMs = 0
  let done = false
  const write = async (final: boolean) => {
    const startedMs = performance.now()
    await saveJobResult(jobDir, current(final))
    waitMs = Math.max(leastMs, patience * (performance.now() - startedMs))
  }
  const touch = () => {
    if (timer || done) return
    timer = setTimeout(() => {
      // If a write fails, the next one tries again; in the end `finish` does, and reports the error.
      writing = write(false)
        .catch(() => {})
        .finally(() => {
          timer = undefined
        })
    }, waitMs)
  }
  const finish = async () => {
    done = true
    clearTimeout(timer)
    await writing
    await write(true)
  }
  return { touch, finish }
}
