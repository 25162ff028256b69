import { resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { JobType, Submission } from '../core/launch.ts'
import { sleep } from '../lib/deadline.ts'
import { cancelledWith } from '../run/launch/cancelled-with.ts'
import { clearEnds, listLaunches as launchIds, loadLaunch } from '../run/launch/journal.ts'
import { checkSecretsFile, secretsFileOf } from '../run/launch/secrets.ts'
import { isOver, type JobStatus, jobsOf, type UnitStatus } from '../run/launch/status.ts'
import { holdingLaunch, missingJobs, submitJobs } from '../run/launch/submit.ts'
import { type LogsAsked, type LogTail, readLogs } from './launch/logs.ts'
import { expectJob, type LaunchQuery, lookAt, type OpenedLaunch, openLaunch } from './launch/open-launch.ts'
import type { LaunchEvent } from './launch/submit-launch.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'

export type { JobStatus, UnitStatus } from '../run/launch/status.ts'
export type { LogsAsked, LogTail } from './launch/logs.ts'
export type { LaunchQuery } from './launch/open-launch.ts'

export interface LaunchStatus {
  readonly id: string
  /** True once nothing is waiting or running. */
  readonly over: boolean
  readonly jobs: readonly JobStatus[]
  /** The same for every task of an array. */
  readonly units: readonly UnitStatus[]
}

/** The state of each job of a launch, as printed by `ot-agent launch status`. */
export async function launchStatus(query: LaunchQuery = {}): Promise<LaunchStatus> {
  return statusOf(await openLaunch(query))
}

async function statusOf(opened: OpenedLaunch): Promise<LaunchStatus> {
  const units = await lookAt(opened)
  return { id: opened.stored.launch.id, over: isOver(units), jobs: jobsOf(units), units }
}

/**
 * Follows a launch until nothing is waiting or running; yields a job whenever its state changes. Aborting the signal
 * stops no job.
 */
export function watchLaunch(
  { everySec = 15, ...query }: LaunchQuery & { readonly everySec?: number | undefined } = {},
  { signal }: RunControl = {},
): Running<JobStatus, LaunchStatus> {
  return new Running(async (emit) => {
    const opened = await openLaunch(query)
    const before = new Map<string, string>()
    for (;;) {
      const status = await statusOf(opened)
      for (const job of status.jobs) {
        const now = `${job.state} ${JSON.stringify(job.units)}`
        if (before.get(job.job) !== now) emit(job)
        before.set(job.job, now)
      }
      if (status.over) return status
      await sleep(everySec * 1000, signal)
    }
  })
}

/** Yields the end of each job's output. */
export async function* launchLogs(query: LaunchQuery & LogsAsked = {}): AsyncGenerator<LogTail, void> {
  const { stored } = await openLaunch(query)
  expectJob(stored, query.job)
  yield* readLogs(stored, query)
}

/**
 * Cancels the waiting and running jobs of a launch, or one of them along with the jobs that depend on it and the
 * servers only it uses. Finished jobs are kept.
 */
export async function cancelLaunch(
  query: LaunchQuery & { readonly job?: string | undefined } = {},
): Promise<{ readonly id: string; readonly cancelled: readonly string[] }> {
  const { stored, scheduler } = await openLaunch(query)
  const { job } = query
  expectJob(stored, job)
  const units = await lookAt({ stored, scheduler })
  const active = new Set(
    units.filter(({ state }) => state === 'waiting' || state === 'running').map((unit) => unit.job),
  )
  const chosen = job === undefined ? active : cancelledWith(stored.launch.jobs, job, (name) => active.has(name))
  // In reverse order: a job that waits for another must not start when that one ends.
  const submissions = stored.submissions.filter((each) => active.has(each.job) && chosen.has(each.job)).reverse()
  await scheduler.cancel(submissions)
  return { id: stored.launch.id, cancelled: submissions.map(({ id }) => id) }
}

export interface ResumedLaunch {
  readonly id: string
  /** Resubmitted jobs, each with its missing array tasks, or null for all. */
  readonly jobs: ReadonlyMap<string, readonly number[] | null>
  /** Empty for a dry run. */
  readonly submitted: readonly Submission[]
}

/** Resubmits everything that is neither finished, waiting nor running. */
export function resumeLaunch(
  query: LaunchQuery & { readonly dryRun?: boolean | undefined } = {},
): Running<LaunchEvent, ResumedLaunch> {
  return new Running(async (emit) => {
    const { stored, scheduler } = await openLaunch(query)
    const { launch } = stored
    if (query.dryRun)
      return { id: launch.id, jobs: (await findMissing({ stored, scheduler }, emit)).jobs, submitted: [] }
    // Another process may have submitted part of it before this one got the lock.
    return holdingLaunch(launch, async () =>
      submitMissing({ stored: await loadLaunch(launch.experimentsDir, launch.id), scheduler }, emit),
    )
  })
}

async function findMissing(opened: OpenedLaunch, emit: (event: LaunchEvent) => void) {
  const units = await lookAt(opened)
  const jobs = missingJobs(opened.stored.launch, units)
  for (const [job, tasks] of jobs)
    emit({ kind: 'note', text: `${job}${tasks === null ? '' : `: tasks ${tasks.join(', ')}`}` })
  if (jobs.size === 0) emit({ kind: 'note', text: 'nothing to submit: every job is done, queued or running' })
  return { units, jobs }
}

async function submitMissing(opened: OpenedLaunch, emit: (event: LaunchEvent) => void): Promise<ResumedLaunch> {
  const { launch, submissions: earlier, dir } = opened.stored
  const { units, jobs } = await findMissing(opened, emit)
  if (jobs.size === 0) return { id: launch.id, jobs, submitted: [] }
  const secretsFile = secretsFileOf(process.env)
  if (secretsFile !== null) await checkSecretsFile(secretsFile)
  const again = units.filter(({ job, task }) => jobs.has(job) && (jobs.get(job)?.includes(task ?? 0) ?? true))
  await clearEnds(
    dir,
    again.map(({ unit }) => unit),
  )
  const onSubmitted = (submission: Submission) => emit({ kind: 'submitted', submission })
  const { scheduler } = opened
  return { id: launch.id, jobs, submitted: await submitJobs({ launch, scheduler, earlier, jobs, onSubmitted }) }
}

export interface ListedLaunch {
  readonly id: string
  readonly jobType: JobType
  readonly cluster: string
  readonly createdAt: string
  readonly jobs: readonly string[]
  readonly submitted: number
}

/** Lists the launches in a directory, oldest first, and what is wrong with unreadable ones. */
export async function listLaunches({
  experimentsDir = 'experiments',
}: Pick<LaunchQuery, 'experimentsDir'> = {}): Promise<{
  readonly launches: readonly ListedLaunch[]
  readonly broken: readonly string[]
}> {
  const dir = resolve(experimentsDir)
  const launches: ListedLaunch[] = []
  const broken: string[] = []
  for (const id of await launchIds(dir)) {
    try {
      const { launch, createdAt, submissions } = await loadLaunch(dir, id)
      const { jobType, cluster, jobs } = launch
      const names = jobs.map(({ name }) => name)
      launches.push({ id, jobType, cluster: cluster.name, createdAt, jobs: names, submitted: submissions.length })
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      broken.push(error.message)
    }
  }
  return { launches, broken }
}
