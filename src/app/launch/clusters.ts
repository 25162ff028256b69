import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Cluster } from '../../core/cluster.ts'
import { UserError } from '../../core/errors.ts'
import { detectCluster, parseClusterYaml } from '../../formats/cluster-yaml.ts'
import { exists } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { absoluteImportPath, isModulePath } from '../../plugins/user-modules/import-path.ts'

/** Where users keep their own cluster files. */
export function ownClustersDir(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'ot-agent', 'clusters')
}

/** A cluster and the file that describes it. */
export interface FoundCluster {
  readonly cluster: Cluster
  readonly file: string
}

/** Every cluster with a file; the user's own come first and hide others of the same name. */
export async function loadClusters(): Promise<readonly FoundCluster[]> {
  const found = new Map<string, FoundCluster>()
  for (const dir of [ownClustersDir(), join(packageRoot, 'clusters')]) {
    const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.yaml')).sort()
    for (const name of names) {
      const each = await loadClusterFile(join(dir, name))
      if (!found.has(each.cluster.name)) found.set(each.cluster.name, each)
    }
  }
  return [...found.values()]
}

export async function loadClusterFile(file: string): Promise<FoundCluster> {
  const cluster = parseClusterYaml(await readFile(file, 'utf8'), file)
  const { scheduler } = cluster
  const found = isModulePath(scheduler) ? absoluteImportPath(scheduler, dirname(resolve(file))) : scheduler
  return { cluster: { ...cluster, scheduler: found }, file }
}

/** The cluster given by name or file, else the one whose login node this is, else this machine alone. */
export async function chooseCluster(asked: string | undefined): Promise<FoundCluster & { readonly how: string }> {
  if (asked !== undefined && /[/.]/.test(asked)) {
    if (!(await exists(asked)))
      throw new UserError(
        `--cluster: expected a file, found none at ${asked}`,
        'check the path, or pass the name of a cluster',
      )
    return { ...(await loadClusterFile(resolve(asked))), how: 'given by its file' }
  }
  const all = await loadClusters()
  const byName = (name: string) => all.find(({ cluster }) => cluster.name === name)
  if (asked !== undefined) {
    const found = byName(asked)
    if (found) return { ...found, how: 'named' }
    const names = all.map(({ cluster }) => cluster.name)
    const near = nearest(asked, names)
    const hint = near === null ? `known: ${names.sort().join(', ')}` : `did you mean ${near}?`
    throw new UserError(`--cluster: unknown cluster ${JSON.stringify(asked)}`, hint)
  }
  const clusters = all.map(({ cluster }) => cluster)
  const here = detectCluster(clusters, fullHostName(), process.env) ?? detectCluster(clusters, hostname(), process.env)
  const found = byName(here?.name ?? 'local')
  if (!found) throw new UserError('this machine belongs to no known cluster', 'pass one with --cluster')
  return { ...found, how: here ? 'this machine belongs to it' : 'this machine belongs to no known cluster' }
}

function fullHostName(): string {
  try {
    return execFileSync('hostname', ['-f'], {
      encoding: 'utf8',
      timeout: 5000,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return hostname()
  }
}
