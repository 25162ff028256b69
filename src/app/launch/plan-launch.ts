import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Launch } from '../../core/launch.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { shellQuote } from '../../lib/shell.ts'
import { makeScheduler } from '../../plugins/make.ts'
import { scriptPath } from '../../run/launch/journal.ts'
import { knownSecrets, refuseSecrets, secretsFileOf } from '../../run/launch/secrets.ts'
import { makeLaunch } from './make-launch.ts'
import type { ReadLaunch } from './read-launch.ts'

/** Everything that a launch would write and run. */
export interface LaunchPlan {
  readonly launch: Launch
  /** Notes for the user. */
  readonly notes: readonly string[]
  /** Each job's script by job name. */
  readonly scripts: ReadonlyMap<string, { readonly path: string; readonly text: string }>
  /** The commands that submit the jobs, with ids of earlier jobs by name. */
  readonly commands: readonly string[]
}

/** Plans a launch without writing anything. */
export async function planLaunch({ settings, cluster }: ReadLaunch): Promise<LaunchPlan> {
  const secretsFile = secretsFileOf(process.env)
  const made = await makeLaunch(settings, {
    cluster,
    stamp: settings.is('dry_run') ? 'DRY-RUN' : stampNow(),
    cwd: process.cwd(),
    program: [process.execPath, join(packageRoot, 'bin/ot-agent.js')],
    secretsFile,
  })
  const plan = await renderPlan(made)
  refuseSecrets({ 'the plan': textsOf(plan).join('\n') }, await knownSecrets(process.env, secretsFile))
  return plan
}

/** A launch's scripts and submit commands. */
export async function renderPlan({ launch, notes }: Pick<LaunchPlan, 'launch' | 'notes'>): Promise<LaunchPlan> {
  const scheduler = await makeScheduler(launch.cluster.scheduler)
  const scripts = launch.jobs.map((job) => {
    const script = { path: scriptPath(launch, job.name), text: scheduler.render(job, launch) }
    return [job.name, script] as const
  })
  const commands = launch.jobs.flatMap((job) =>
    Array.from({ length: job.restarts + 1 }, (_, link) =>
      scheduler.describe({ job, launch, link, scriptPath: scriptPath(launch, job.name), tasks: null }),
    ),
  )
  return {
    launch,
    notes,
    scripts: new Map(scripts),
    commands: commands.filter((words) => words.length > 0).map((words) => words.map(shellQuote).join(' ')),
  }
}

function textsOf({ launch, notes, scripts, commands }: LaunchPlan): string[] {
  const { id, cluster, experimentsDir, jobs, files } = launch
  const said = [id, cluster.summary, experimentsDir, ...jobs.map(({ summary }) => summary), ...notes, ...commands]
  return [...said, ...Object.entries(files).flat(), ...[...scripts.values()].map(({ text }) => text)]
}

function stampNow(): string {
  const now = new Date().toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 15)
  return `${now}-${randomBytes(2).toString('hex')}`
}
