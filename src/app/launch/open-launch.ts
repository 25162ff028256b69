import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Scheduler } from '../../core/launch.ts'
import { nearest } from '../../lib/nearest.ts'
import { makeScheduler } from '../../plugins/make.ts'
import { listLaunches, loadLaunch, readMarks, type StoredLaunch } from '../../run/launch/journal.ts'
import { type UnitStatus, unitsOf } from '../../run/launch/status.ts'

/** Selects a launch. */
export interface LaunchQuery {
  /** Its name or a prefix of it (default: the latest). */
  readonly launch?: string | undefined
  /** Where launches are stored (default: experiments). */
  readonly experimentsDir?: string | undefined
}

/** A launch and its scheduler. */
export interface OpenedLaunch {
  readonly stored: StoredLaunch
  readonly scheduler: Scheduler
}

/** Finds a launch by its name or a prefix. */
export async function openLaunch({
  launch: asked,
  experimentsDir = 'experiments',
}: LaunchQuery): Promise<OpenedLaunch> {
  const dir = resolve(experimentsDir)
  const names = await listLaunches(dir)
  const matches =
    asked === undefined ? names.slice(-1) : names.filter((name) => name === asked || name.startsWith(asked))
  const [id] = asked !== undefined && names.includes(asked) ? [asked] : matches
  if (id === undefined)
    throw new UserError(
      asked === undefined
        ? `expected launches in ${dir}, found none`
        : `no launch in ${dir} starts with ${JSON.stringify(asked)}`,
      'ot-agent launch list --experiments-dir DIR shows them',
    )
  if (matches.length > 1 && !names.includes(asked ?? ''))
    throw new UserError(
      `${JSON.stringify(asked)} begins ${matches.length} launches: ${matches.slice(0, 4).join(', ')}`,
      'type more of the name',
    )
  const stored = await loadLaunch(dir, id)
  return { stored, scheduler: await makeScheduler(stored.scheduler) }
}

/** The state of every unit of a launch, from one scheduler query and the marker files on disk. */
export async function lookAt({ stored, scheduler }: OpenedLaunch): Promise<readonly UnitStatus[]> {
  const scheduled = await scheduler.states(stored.submissions)
  return unitsOf(stored, await readMarks(stored.dir), scheduled)
}

/** Refuses a job name that the launch does not have. */
export function expectJob({ launch: { jobs } }: StoredLaunch, job: string | undefined): void {
  const names = jobs.map(({ name }) => name)
  if (job === undefined || names.includes(job)) return
  const near = nearest(job, names)
  throw new UserError(
    `this launch has no job ${job}`,
    near === null ? `known: ${names.join(', ')}` : `did you mean ${near}?`,
  )
}
