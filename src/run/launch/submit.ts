import { setTimeout as delay } from 'node:timers/promises'
import { BoundaryError } from '../../core/errors.ts'
import type { Launch, Scheduler, Submission } from '../../core/launch.ts'
import { relayOutput } from '../../lib/relay-output.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { utcNow } from '../../lib/time.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { addSubmission, launchDir, scriptPath } from './journal.ts'
import type { UnitStatus } from './status.ts'

/** Which part of a launch to submit. */
export interface Handing {
  readonly launch: Launch
  readonly scheduler: Scheduler
  /** What was submitted before. */
  readonly earlier: readonly Submission[]
  /** Jobs to submit, each with the missing tasks of its array, or null for all. */
  readonly jobs: ReadonlyMap<string, readonly number[] | null>
  readonly onSubmitted?: (submission: Submission) => void
}

/** Runs work on a launch that only one process may do at a time: deciding what is missing and submitting it. */
export async function holdingLaunch<T>({ experimentsDir, id }: Launch, work: () => Promise<T>): Promise<T> {
  const release = await acquireOwner(launchDir(experimentsDir, id))
  try {
    return await work()
  } finally {
    await release()
  }
}

/**
 * Submits jobs to the scheduler in order, each with its restarts, after running those that belong on this machine, and
 * records every id before submitting the next job. The caller holds the launch. If one is refused, those before it are
 * cancelled: `launch resume` submits all of them again.
 */
export async function submitJobs({
  launch,
  scheduler,
  earlier,
  jobs,
  onSubmitted,
}: Handing): Promise<readonly Submission[]> {
  const dir = launchDir(launch.experimentsDir, launch.id)
  const made: Submission[] = []
  try {
    for (const job of launch.jobs) {
      const tasks = jobs.get(job.name)
      if (tasks === undefined) continue
      if (job.place === 'login') {
        await runHere(job.name, scriptPath(launch, job.name))
        continue
      }
      for (let link = 0; link <= job.restarts; link++) {
        // For a job that was submitted before, only the current submission counts.
        const known = [...earlier.filter((each) => !jobs.has(each.job)), ...made]
        const id = await scheduler.submit({
          job,
          launch,
          link,
          scriptPath: scriptPath(launch, job.name),
          tasks,
          earlier: known,
        })
        const submission = { job: job.name, link, id, tasks }
        // Added first, so that it is cancelled too if it cannot be recorded.
        made.push(submission)
        await addSubmission(dir, submission, utcNow())
        onSubmitted?.(submission)
      }
    }
    return made
  } catch (error) {
    // A server without its consumers would run for nothing.
    await scheduler.cancel(made).catch(() => {})
    throw error
  }
}

/** What a resumed launch has to submit: whatever is neither done nor waiting nor running, and the server it needs. */
export function missingJobs(
  launch: Launch,
  units: readonly UnitStatus[],
): ReadonlyMap<string, readonly number[] | null> {
  const servers = new Set(
    launch.jobs.flatMap(({ after }) => after.filter(({ when }) => when === 'started').map(({ job }) => job)),
  )
  const isActive = ({ state }: UnitStatus) => state === 'waiting' || state === 'running'
  const missing = new Map<string, readonly number[] | null>()
  for (const { name, array } of launch.jobs) {
    const left = units.filter((unit) => unit.job === name && unit.state !== 'done' && !isActive(unit))
    if (servers.has(name) || left.length === 0) continue
    missing.set(name, array === null || left.length === array.size ? null : left.map(({ task }) => task ?? 0))
  }
  for (const server of servers) {
    const isNeeded = launch.jobs.some(({ name, after }) => missing.has(name) && after.some(({ job }) => job === server))
    const runs = units.some((unit) => unit.job === server && isActive(unit))
    if (isNeeded && !runs) missing.set(server, null)
  }
  return missing
}

const lastWordsMs = 1000

/**
 * Runs a job's script on this machine and waits for it. Its output is reported as news; it marks itself done like any
 * other job.
 */
async function runHere(job: string, scriptPath: string): Promise<void> {
  const child = await spawnProcess('bash', [scriptPath], { stdio: ['ignore', 'pipe', 'pipe'] })
  relayOutput(child)
  const printed = new Promise((resolve) => child.once('close', resolve))
  const end = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, by) => resolve(code === 0 ? null : (by ?? `exit code ${code}`)))
  })
  // A process it left running may hold its output open; do not wait for that.
  await Promise.race([printed, delay(lastWordsMs, null, { ref: false })])
  if (end === null) return
  throw new BoundaryError('scheduler', `${job}, which runs before anything is submitted, ended with ${end}`)
}
