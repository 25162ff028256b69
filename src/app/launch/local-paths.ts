import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists } from '../../lib/files.ts'
import { type PlanContext, slug } from '../../run/launch/plan.ts'
import type { Download } from '../../run/launch/plan-model.ts'
import { flagOf, type Settings } from '../../run/launch/settings.ts'

/** A Hub name, and where its files will be if nodes cannot download them. */
export function localOf(
  at: PlanContext,
  settings: Settings,
  name: string,
  type: Download['type'],
): { readonly path: string; readonly download: Download | null } {
  if (name.startsWith('file:')) return { path: resolve(name.slice('file:'.length)), download: null }
  if (at.cluster.internetOnComputeNodes || !isHubName(name)) return { path: name, download: null }
  const dir = join(dirOf(at, settings, type === 'model' ? 'models_dir' : 'datasets_dir', `${type}s`), name)
  return { path: dir, download: { repo: name, dir, type } }
}

/** True for `org/name`, false for a path. */
export function isHubName(text: string): boolean {
  return /^\w[\w.-]*\/[\w.-]+$/.test(text)
}

/**
 * Refuses a missing folder of tasks, except in a dry run, which may be far from the cluster, or if an earlier job may
 * create it.
 */
export async function expectFolder(settings: Settings, name: string, dir: string): Promise<void> {
  if (settings.is('dry_run') || settings.has('dependency') || (await exists(dir))) return
  throw new UserError(`${flagOf(name)}: expected a folder of tasks, found none at ${dir}`, 'check the path')
}

/** A configured directory, with variables expanded, or the default below the experiments directory. */
export function dirOf({ experimentsDir }: PlanContext, settings: Settings, name: string, usual: string): string {
  const given = settings.text(name)
  if (given === undefined) return join(experimentsDir, usual)
  return given.replaceAll(/\$\{?([A-Za-z_]\w*)\}?/g, (whole, variable) => {
    const value = process.env[variable]
    // A dry run may be far from the cluster. A launch would make a directory that is called $SCRATCH.
    if (value === undefined && !settings.is('dry_run'))
      throw new UserError(
        `${flagOf(name)}: expected a directory, got ${given}, and ${variable} is not set`,
        `set ${variable}, or name the directory with ${flagOf(name)}`,
      )
    return value ?? whole
  })
}

/**
 * Where tasks are unpacked: a separate place per origin, so that tasks from different origins with the same name do not
 * mix.
 */
export function tasksPlace({ experimentsDir }: PlanContext, name: string, origin: unknown): string {
  const digest = createHash('sha256').update(JSON.stringify(origin)).digest('hex').slice(0, 8)
  return join(experimentsDir, 'tasks_extracted', digest, slug(name))
}

/** Notes for the user about a cluster whose nodes have no internet. */
export function offlineNotes({ cluster }: PlanContext): string[] {
  if (cluster.internetOnComputeNodes) return []
  const published = cluster.internetJobs
    ? []
    : ['nothing is reported or uploaded from there; run ot-agent hub upload on a login node']
  return [
    `compute nodes of ${cluster.name} have no internet: models and datasets are downloaded ${cluster.internetJobs ? 'in a job with internet' : 'on this machine'} first`,
    ...published,
  ]
}
