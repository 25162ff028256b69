import { createHash } from 'node:crypto'
import type { Cluster } from '../../core/cluster.ts'
import { type JobResources, type LaunchJob, maxJobName, type ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'
import { frame, frameEnd } from './frame.ts'
import { activate, loadModules, nameProgram, setVariables, sourceSecrets } from './pieces.ts'
import { openTunnel } from './tunnel.ts'

/** What all jobs of a launch have in common. Nothing here is looked up: the same context always gives the same scripts. */
export interface PlanContext {
  readonly cluster: Cluster
  readonly launchId: string
  readonly experimentsDir: string
  /** The directory that relative paths of arguments start from. */
  readonly cwd: string
  /** The prefix of every job's name. */
  readonly name: string
  /** How to call our own program on the nodes. */
  readonly program: readonly string[]
  readonly secretsFile: string | null
  readonly timeLimit: string
  readonly restarts: number
  readonly stopSec: number
  /** Set in every job, overriding those of the cluster. */
  readonly variables: Readonly<Record<string, string>>
}

/** What is specific to one job. */
export interface JobDraft {
  readonly name: string
  readonly summary: string
  readonly resources: JobResources
  readonly place?: LaunchJob['place']
  readonly after?: LaunchJob['after']
  readonly array?: LaunchJob['array']
  readonly restarts?: number
  /** The job calls third-party programs: modules are loaded and the Python environment is activated. */
  readonly foreign?: boolean
  readonly pieces: readonly ScriptPiece[]
}

/** Where a launch's marks, journal and endpoint live. */
export function launchDirOf({ experimentsDir, launchId }: Pick<PlanContext, 'experimentsDir' | 'launchId'>): string {
  return `${experimentsDir}/launches/${launchId}`
}

/** Where files for a launch's jobs go, below the experiments directory and separate from other launches'. */
export function configsOf({ launchId }: Pick<PlanContext, 'launchId'>): string {
  return `configs/${launchId}`
}

/** Assembles the frame, the cluster's own lines and the work of a job. */
export function makeJob(at: PlanContext, draft: JobDraft): LaunchJob {
  const { name, summary, resources, place = null, after = [], array = null, foreign = false, pieces } = draft
  const { cluster } = at
  // Work done before submission runs only once, in the process that waits for it.
  const restarts = place === 'login' ? 0 : (draft.restarts ?? at.restarts)
  return {
    name,
    jobName: jobNameOf(at.name, name),
    summary,
    place,
    resources,
    after,
    array,
    restarts,
    stopSec: at.stopSec,
    script: [
      frame({ launchDir: launchDirOf(at), job: name, isArray: array !== null, restarts }),
      ...(foreign ? loadModules(cluster) : []),
      ...setVariables(cluster, at.variables),
      ...(place === null ? openTunnel(cluster) : []),
      ...(foreign ? activate(cluster) : []),
      ...sourceSecrets(at.secretsFile),
      nameProgram(at.program),
      { about: 'where relative paths lead from', lines: [`cd ${shellQuote(at.cwd)}`] },
      ...pieces,
      frameEnd,
    ],
  }
}

/** Where a job that fetches from the internet runs. */
export function placeWithInternet({ cluster }: PlanContext): LaunchJob['place'] {
  if (cluster.internetOnComputeNodes) return null
  return cluster.internetJobs ? 'internet' : 'login'
}

/**
 * A valid name of letters, digits, dots and dashes; one that is too long keeps both ends with a digest between them.
 */
export function jobNameOf(base: string, job: string): string {
  const name = `${slug(base)}_${slug(job)}`
  if (name.length <= maxJobName) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8)
  const room = maxJobName - digest.length - 2
  const tail = slug(job).slice(-Math.floor(room / 3))
  return `${name.slice(0, room - tail.length)}-${digest}-${tail}`
}

/** Text as part of a name or a path. */
export function slug(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[-.]+|-+$/g, '') || 'job'
}

/** A job that needs only processors. */
export function cpuResources({ cluster, timeLimit }: PlanContext, cpus = 8, memoryGb = 16): JobResources {
  const fits = cluster.memoryPerNodeGb === undefined ? memoryGb : Math.min(memoryGb, cluster.memoryPerNodeGb)
  return { nodes: 1, gpusPerNode: 0, cpusPerNode: Math.min(cpus, cluster.cpusPerNode), memoryGb: fits, timeLimit }
}

/** A job with the given total number of GPUs, on as few nodes as possible, with a proportional share of each node. */
export function gpuResources({ cluster }: PlanContext, gpus: number, timeLimit: string): JobResources {
  const most = Math.max(1, cluster.gpusPerNode)
  const nodes = Math.ceil(gpus / most)
  const gpusPerNode = Math.min(most, Math.ceil(gpus / nodes))
  const share = gpusPerNode / most
  return {
    nodes,
    gpusPerNode: cluster.gpusPerNode === 0 ? 0 : gpusPerNode,
    cpusPerNode: Math.max(1, Math.floor(cluster.cpusPerNode * share)),
    memoryGb: cluster.memoryPerNodeGb === undefined ? null : Math.max(1, Math.floor(cluster.memoryPerNodeGb * share)),
    timeLimit,
  }
}
