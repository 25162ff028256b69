import type { RayLimits } from '../../core/cluster.ts'
import type { LaunchJob, ScriptPiece } from '../../core/launch.ts'
import { type Argument, type Consumer, endWithConsumers, expandable, runOurs, waitForEndpoint } from './pieces.ts'
import { gpuResources, jobNameOf, launchDirOf, makeJob, type PlanContext } from './plan.ts'
import { type Download, planDownload } from './plan-model.ts'

/** A launch's model server. */
export interface ServerRequest {
  /** The engine file, below the experiments directory. */
  readonly configFile: string
  readonly model: string
  readonly replicas: number
  /** Tensor x pipeline x data parallel. */
  readonly gpusPerReplica: number
  readonly timeLimit: string
  /** A model spread over several nodes runs on Ray. */
  readonly ray: { readonly port: number; readonly variables: Readonly<Record<string, string>> } | null
  /** Weights that nodes cannot download themselves. */
  readonly download: Download | null
  readonly attempts: number
  readonly delaySec: number
}

const serverJob = 'server'

/** The file that a launch's server writes while it answers, and only then. */
export function endpointFile(at: PlanContext): string {
  return `${launchDirOf(at)}/endpoint.json`
}

/** Makes a job wait until its launch's server answers. */
export function waitForServer(at: PlanContext, { attempts, delaySec }: ServerRequest): ScriptPiece {
  const jobName = jobNameOf(at.name, serverJob)
  return waitForEndpoint({ job: serverJob, jobName, endpointFile: endpointFile(at), attempts, delaySec })
}

/**
 * The job that serves a model until every job that needs it is done, preceded by one that downloads the weights if
 * necessary.
 */
export function planServer(
  at: PlanContext,
  server: ServerRequest,
  consumers: readonly Consumer[],
): readonly LaunchJob[] {
  const fetched = planDownload(at, server.download ? [server.download] : [])
  const gpus = server.replicas * server.gpusPerReplica
  const most = Math.max(1, at.cluster.gpusPerNode)
  const perNode = Math.floor(most / server.gpusPerReplica)
  // Replicas that fit on a node each stay on one; Ray spreads larger ones over all nodes.
  const isSpread = at.cluster.scheduler === 'slurm' && perNode > 0 && server.replicas > perNode
  const resources = isSpread
    ? {
        ...gpuResources(at, perNode * server.gpusPerReplica, server.timeLimit),
        nodes: Math.ceil(server.replicas / perNode),
      }
    : gpuResources(at, gpus, server.timeLimit)
  const hosts: Argument[] = isSpread ? ['--hosts', { raw: '"$hosts"' }] : ['--advertise', { raw: '"$(hostname)"' }]
  const args: Argument[] = [
    ...['serve', '--config', `${at.experimentsDir}/${server.configFile}`, '--host', '0.0.0.0', '--port', '0'],
    ...hosts,
    ...['--endpoint-json', endpointFile(at)],
  ]
  const job = makeJob(at, {
    name: serverJob,
    summary: `serve ${server.model} on ${gpus} GPU${gpus === 1 ? '' : 's'}`,
    resources,
    after: fetched.map(({ name }) => ({ job: name, when: 'ok' })),
    foreign: true,
    pieces: [
      ...(isSpread
        ? [namedHosts]
        : server.ray && resources.nodes > 1
          ? [startRay(server.ray, resources, at.cluster.ray)]
          : []),
      endWithConsumers(consumers),
      runOurs('serve, on any free port, and tell where only when the model answers', args),
      // A server also exits with 0 when it is stopped before its time is up; its restart must then continue.
      { about: 'its work is done only when no job needs it any more', lines: ['exit 75'] },
    ],
  })
  return [...fetched, job]
}

/**
 * The jobs that must be done, or have failed for good, before a server ends: those that use it, and those they depend
 * on.
 */
export function consumersOf(jobs: readonly LaunchJob[]): readonly Consumer[] {
  const counted = new Set(jobs.filter(({ after }) => after.some(({ when }) => when === 'started')))
  for (const { after } of counted)
    for (const each of jobs) if (after.some(({ job, when }) => when === 'ok' && job === each.name)) counted.add(each)
  return [...counted].map(({ name, array }) => ({ job: name, tasks: array?.size ?? null }))
}

const namedHosts: ScriptPiece = {
  about: 'the nodes that serve',
  lines: ['hosts="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | paste -s -d ,)"'],
}

/** Starts a Ray head on the first node and a worker on every other one, waits for them, and stops them with the job. */
export function startRay(
  { port, variables }: NonNullable<ServerRequest['ray']>,
  { nodes, gpusPerNode }: LaunchJob['resources'],
  limits: RayLimits = {},
): ScriptPiece {
  // Other nodes get the folder from the head.
  const temp = limits.tempDir === undefined ? '' : ` --temp-dir=${expandable(limits.tempDir)}`
  const most = [
    `--num-gpus=${gpusPerNode}`,
    ...(limits.objectStoreGb === undefined ? [] : [`--object-store-memory=${bytesOf(limits.objectStoreGb)}`]),
    ...(limits.memoryGb === undefined ? [] : [`--memory=${bytesOf(limits.memoryGb)}`]),
  ]
  return {
    about: `Ray over ${nodes} nodes`,
    lines: [
      ...Object.entries(variables).map(([name, value]) => `export ${name}=${value}`),
      'mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")',
      `ray_port=${port === 0 ? '$((20000 + SLURM_JOB_ID % 20000))' : port}`,
      `export RAY_ADDRESS="\${hosts[0]}:$ray_port"`,
      'teardown() { srun --overlap --nodes="$SLURM_NNODES" --ntasks-per-node=1 ray stop --force > /dev/null 2>&1; }',
      `start_ray() { srun --overlap --nodes=1 --ntasks=1 -w "$1" ray start "\${@:2}" ${most.join(' ')} --block & helpers+=($!); }`,
      ...awaitRay,
      `start_ray "\${hosts[0]}" --head --port="$ray_port"${temp}`,
      'await_ray 1',
      `for host in "\${hosts[@]:1}"; do start_ray "$host" --address="$RAY_ADDRESS"; done`,
      `await_ray ${nodes}`,
    ],
  }
}

function bytesOf(gb: number): number {
  return Math.round(gb * 1e9)
}

/**
 * Waits until Ray has the expected number of nodes. `ray status` needs only Ray itself; `ray list nodes` needs its
 * dashboard.
 */
export const awaitRay: readonly string[] = [
  'await_ray() {',
  '  local until=$((SECONDS + 600)) said nodes',
  '  while :; do',
  '    said="$(timeout 60 ray status 2>&1)" || true',
  `    nodes="$(awk '/^(Active|Idle|Healthy):/ { on = 1; next } /^[^ ]/ { on = 0 } on && $1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }' <<< "$said")"`,
  '    if [ "$nodes" -ge "$1" ]; then return; fi',
  '    if [ "$SECONDS" -ge "$until" ]; then break; fi',
  '    pause 2',
  '  done',
  '  note "Ray has $nodes of $1 nodes after 600 s; ray status says:"',
  '  tail -n 20 <<< "$said" >&2',
  '  exit 69',
  '}',
]
