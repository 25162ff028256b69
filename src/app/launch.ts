import type { Submission } from '../core/launch.ts'
import { launchDir } from '../run/launch/journal.ts'
import { type LaunchPlan, planLaunch } from './launch/plan-launch.ts'
import { readLaunch } from './launch/read-launch.ts'
import type { LaunchRequest } from './launch/schema.ts'
import { type LaunchEvent, submitLaunch } from './launch/submit-launch.ts'
import { Running } from './running.ts'

export type { LaunchPlan } from './launch/plan-launch.ts'
export type { LaunchRequest } from './launch/schema.ts'
export type { LaunchEvent } from './launch/submit-launch.ts'

export interface LaunchResult {
  /** Identifies the launch for `launchStatus` and related functions. */
  readonly id: string
  /** Where its files are, or would be. */
  readonly dir: string
  readonly plan: LaunchPlan
  /** The submitted jobs; empty for a dry run. */
  readonly submitted: readonly Submission[]
}

/**
 * Runs work on a cluster, like `ot-agent launch`: plans jobs, writes their scripts and submits them. `dryRun` only
 * plans.
 */
export function launch(request: LaunchRequest): Running<LaunchEvent, LaunchResult> {
  return new Running(async (emit) => {
    const read = await readLaunch(request)
    const plan = await planLaunch(read)
    const { id, experimentsDir } = plan.launch
    if (read.settings.is('dry_run')) return { id, dir: launchDir(experimentsDir, id), plan, submitted: [] }
    const { settings } = read
    return { id, plan, ...(await submitLaunch(plan, { settings, command: process.argv, emit })) }
  })
}
