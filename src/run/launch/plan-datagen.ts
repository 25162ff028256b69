import type { LaunchJob } from '../../core/launch.ts'
import { type Argument, runOurs } from './pieces.ts'
import { cpuResources, gpuResources, makeJob, type PlanContext, placeWithInternet } from './plan.ts'
import { consumersOf, endpointFile, planServer, type ServerRequest, waitForServer } from './plan-server.ts'

/**
 * Where a job finds its model: at the launch's server or through an engine file below the experiments directory; or it
 * needs none.
 */
export type ModelUse = { readonly from: 'server' } | { readonly from: 'file'; readonly path: string } | null

/** Making tasks and traces with a data pipeline. */
export interface DatagenRequest {
  /** The pipeline's file. */
  readonly script: string
  /** The pipeline whose traces stage is run. */
  readonly tracesScript: string
  /** The agents themselves need a GPU. */
  readonly tracesGpu: boolean
  /** Arguments for `generate` in the tasks job; null makes no tasks. */
  readonly tasks: readonly string[] | null
  /** The same for the traces job. */
  readonly traces: readonly string[] | null
  /** An existing folder of tasks; null uses those of the tasks job. */
  readonly tasksInput: string | null
  /** A dataset of tasks to download first. */
  readonly fetch: { readonly repo: string; readonly dir: string; readonly more: readonly string[] } | null
  readonly server: ServerRequest | null
  readonly tasksModel: ModelUse
  readonly tracesModel: ModelUse
  readonly tasksOut: string
  readonly tracesOut: string
  readonly traceJobs: string
  readonly chunks: { readonly count: number; readonly throttle: number } | null
  /** Where tasks and traces are published. */
  readonly tasksTarget: string | null
  readonly tracesTarget: string | null
}

/**
 * Server, tasks, traces, and one dataset made of the parts: each runs after the jobs it needs, and never after one that
 * failed.
 */
export function planDatagen(at: PlanContext, request: DatagenRequest): readonly LaunchJob[] {
  const { tasks, traces, chunks, server } = request
  const work: LaunchJob[] = []
  if (tasks) work.push(planTasks(at, request, tasks))
  if (request.fetch) work.push(planFetch(at, request.fetch))
  if (traces) work.push(planTraces(at, request, traces))
  if (tasks && request.tasksTarget !== null)
    work.push(
      planUpload(at, {
        after: 'tasks',
        name: 'upload-tasks',
        dir: `${request.tasksOut}/tasks`,
        target: request.tasksTarget,
      }),
    )
  if (traces && chunks) work.push(planJoin(at, request))
  if (traces && request.tracesTarget !== null)
    work.push(
      planUpload(at, {
        after: chunks ? 'join' : 'traces',
        name: 'upload-traces',
        dir: tracesDir(request),
        target: request.tracesTarget,
      }),
    )
  if (!server) return work
  return [...planServer(at, server, consumersOf(work)), ...work]
}

function planTasks(at: PlanContext, request: DatagenRequest, own: readonly string[]): LaunchJob {
  const reaches = reach(at, request, request.tasksModel)
  const args = ['generate', request.script, '--stage', 'tasks', '--output-dir', request.tasksOut]
  return makeJob(at, {
    name: 'tasks',
    summary: 'make tasks',
    resources: cpuResources(at),
    after: afterServer(request.tasksModel),
    pieces: [...reaches.wait, runOurs('make the missing tasks', [...args, '--no-upload', ...reaches.words, ...own])],
  })
}

function planFetch(at: PlanContext, { repo, dir, more }: NonNullable<DatagenRequest['fetch']>): LaunchJob {
  return makeJob(at, {
    name: 'fetch',
    summary: `download the tasks of ${repo}`,
    place: placeWithInternet(at),
    resources: cpuResources(at, 4, 8),
    pieces: [runOurs('download tasks', ['hub', 'download', repo, '--tasks', '--out', dir, ...more])],
  })
}

function planTraces(at: PlanContext, request: DatagenRequest, own: readonly string[]): LaunchJob {
  const { chunks, tasksInput } = request
  const out = request.tracesOut
  const reaches = reach(at, request, request.tracesModel)
  const place: Argument[] = chunks
    ? [
        '--output-dir',
        { raw: `${quoted(`${out}/chunk-`)}"$task"` },
        '--trace-jobs-dir',
        { raw: `${quoted(`${request.traceJobs}/chunk-`)}"$task"` },
        '--trace-share',
        { raw: `"$task/${chunks.count}"` },
      ]
    : ['--output-dir', out, '--trace-jobs-dir', request.traceJobs]
  const tasksDir = request.fetch?.dir ?? tasksInput ?? `${request.tasksOut}/tasks`
  const before = request.fetch ? 'fetch' : request.tasks && tasksInput === null ? 'tasks' : null
  const args: Argument[] = ['generate', request.tracesScript, '--stage', 'traces', '--tasks-input', tasksDir]
  return makeJob(at, {
    name: 'traces',
    summary: chunks ? `run agents on tasks, in ${chunks.count} parts` : 'run agents on tasks',
    resources: request.tracesGpu ? gpuResources(at, 1, at.timeLimit) : cpuResources(at, 32, 32),
    after: [...(before ? [{ job: before, when: 'ok' } as const] : []), ...afterServer(request.tracesModel)],
    array: chunks && { size: chunks.count, throttle: chunks.throttle },
    pieces: [
      ...reaches.wait,
      runOurs('run agents, resuming an earlier run', [...args, ...place, '--no-upload', ...reaches.words, ...own]),
    ],
  })
}

/** Where the dataset of traces ends up. */
function tracesDir({ chunks, tracesOut }: DatagenRequest): string {
  return `${tracesOut}/${chunks ? 'all' : 'traces'}`
}

function planJoin(at: PlanContext, request: DatagenRequest): LaunchJob {
  const words = [
    'traces',
    'export',
    '--path',
    request.traceJobs,
    '--recursive',
    '--out',
    tracesDir(request),
    '--overwrite',
  ]
  return makeJob(at, {
    name: 'join',
    summary: 'merge all parts into one dataset',
    resources: cpuResources(at, 4, 16),
    after: [{ job: 'traces', when: 'ok' }],
    pieces: [runOurs('merge all parts into one dataset', words)],
  })
}

interface Upload {
  readonly after: string
  readonly name: string
  readonly dir: string
  readonly target: string
}

function planUpload(at: PlanContext, { after, name, dir, target }: Upload): LaunchJob {
  return makeJob(at, {
    name,
    summary: `publish to ${target}`,
    resources: cpuResources(at, 4, 8),
    after: [{ job: after, when: 'ok' }],
    pieces: [runOurs('publish', ['hub', 'upload', dir, target])],
  })
}

function afterServer(model: ModelUse): LaunchJob['after'] {
  return model?.from === 'server' ? [{ job: 'server', when: 'started' }] : []
}

function reach(at: PlanContext, { server }: DatagenRequest, model: ModelUse) {
  if (model?.from === 'file') return { wait: [], words: ['--engine-config', `${at.experimentsDir}/${model.path}`] }
  if (model === null || server === null) return { wait: [], words: [] }
  return { wait: [waitForServer(at, server)], words: ['--endpoint-json', endpointFile(at)] }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
