import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import type { Scheduler } from '../../core/launch.ts'
import { makeScheduler } from '../../plugins/make.ts'
import { listLaunches, loadLaunch, readMarks, type StoredLaunch } from '../../run/launch/journal.ts'
import { type UnitStatus, unitsOf } from '../../run/launch/status.ts'

/** What every command about a launch takes. */
export function launchCommand() {
  return new Command()
    .argument('[launch]', 'a launch by its name, or the beginning of it (default: the latest)')
    .option('--experiments-dir <dir>', 'where launches are written down', 'experiments')
}

/** A launch that was found, and its scheduler. */
export interface OpenedLaunch {
  readonly stored: StoredLaunch
  readonly scheduler: Scheduler
}

/** Finds a launch by its name or the beginning of it. */
export async function openLaunch(asked: string | undefined, experimentsDir: string): Promise<OpenedLaunch> {
  const dir = resolve(experimentsDir)
  const names = await listLaunches(dir)
  const matches =
    asked === undefined ? names.slice(-1) : names.filter((name) => name === asked || name.startsWith(asked))
  const [id] = asked !== undefined && names.includes(asked) ? [asked] : matches
  if (id === undefined)
    throw new UserError(
      asked === undefined
        ? `expected launches in ${dir}, found none`
        : `no launch in ${dir} begins with ${JSON.stringify(asked)}`,
      'ot-agent launch list --experiments-dir DIR shows them',
    )
  if (matches.length > 1 && !names.includes(asked ?? ''))
    throw new UserError(
      `${JSON.stringify(asked)} begins ${matches.length} launches: ${matches.slice(0, 4).join(', ')}`,
      'give more of the name',
    )
  const stored = await loadLaunch(dir, id)
  return { stored, scheduler: await makeScheduler(stored.scheduler) }
}

/** How every unit of a launch stands now: one question to the scheduler, and the marks on disk. */
export async function lookAt({ stored, scheduler }: OpenedLaunch): Promise<readonly UnitStatus[]> {
  const scheduled = await scheduler.states(stored.submissions)
  return unitsOf(stored, await readMarks(stored.dir), scheduled)
}
