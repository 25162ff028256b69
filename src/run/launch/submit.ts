import { setTimeout as delay } from 'node:timers/promises'
import { BoundaryError } from '../../core/errors.ts'
import type { Launch, Scheduler, Submission } from '../../core/launch.ts'
import { relayOutput } from '../../lib/relay-output.ts'
import { spawnProcess } from '../../lib/spawn-process.ts'
import { utcNow } from '../../lib/time.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { addSubmission, launchDir, scriptPath } from './journal.ts'
import type { UnitStatus } from './status.ts'

/** Which part of a launch is to be handed over. */
export interface Handing {
  readonly launch: Launch
  readonly scheduler: Scheduler
  /** What was handed over before. */
  readonly earlier: readonly Submission[]
  /** Jobs to hand over, each with the tasks of its array that are missing, or null for all. */
  readonly jobs: ReadonlyMap<string, readonly number[] | null>
  readonly onSubmitted?: (submission: Submission) => void
}

/** Runs work on a launch that only one process may do at a time: to decide what is missing, and to hand it over. */
export async function holdingLaunch<T>({ experimentsDir, id }: Launch, work: () => Promise<T>): Promise<T> {
  const release = await acquireOwner(launchDir(experimentsDir, id))
  try {
    return await work()
  } finally {
    await release()
  }
}

/**
 * Hands jobs to the scheduler in order, after those that run here were run, each with its restarts, and writes every id down before the next. The
 * caller holds the launch. When one is refused, those before it are taken back: `launch resume` hands all over again.
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
        // Of a job that was handed over before, only what is handed over now counts.
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
        // Taken back too, if it cannot be written down.
        made.push(submission)
        await addSubmission(dir, submission, utcNow())
        onSubmitted?.(submission)
      }
    }
    return made
  } catch (error) {
    // A server without those it serves would run for nothing.
    await scheduler.cancel(made).catch(() => {})
    throw error
  }
}

/** What a resumed launch has to hand over: whatever is not done and neither waits nor runs, and the server that it needs. */
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

/** Runs a job's script on this machine and waits for it. What it prints is news; it marks itself done like any other job. */
async function runHere(job: string, scriptPath: string): Promise<void> {
  const child = await spawnProcess('bash', [scriptPath], { stdio: ['ignore', 'pipe', 'pipe'] })
  relayOutput(child)
  const printed = new Promise((resolve) => child.once('close', resolve))
  const end = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, by) => resolve(code === 0 ? null : (by ?? `exit code ${code}`)))
  })
  // What it left running may hold its output open, and is not waited for.
  await Promise.race([printed, delay(lastWordsMs, null, { ref: false })])
  if (end === null) return
  throw new BoundaryError('scheduler', `${job}, which runs before anything is submitted, ended with ${end}`)
}
