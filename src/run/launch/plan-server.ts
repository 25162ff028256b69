import type { LaunchJob, ScriptPiece } from '../../core/launch.ts'
import { type Argument, type Consumer, endWithConsumers, runOurs } from './pieces.ts'
import { gpuResources, launchDirOf, makeJob, type PlanContext } from './plan.ts'

/** A model server of a launch. */
export interface ServerRequest {
  /** The engine file, below the experiments directory. */
  readonly configFile: string
  readonly model: string
  /** In all: replicas x tensor x pipeline x data parallel. */
  readonly gpus: number
  readonly timeLimit: string
  /** A model that is spread over several nodes is held together by Ray. */
  readonly ray: { readonly port: number; readonly variables: Readonly<Record<string, string>> } | null
  readonly attempts: number
  readonly delaySec: number
}

/** Where the server of a launch says that it answers. It is there only while it does. */
export function endpointFile(at: PlanContext): string {
  return `${launchDirOf(at)}/endpoint.json`
}

/** The job that serves a model until everybody who needs it is done. */
export function planServer(at: PlanContext, server: ServerRequest, consumers: readonly Consumer[]): LaunchJob {
  const resources = gpuResources(at, server.gpus, server.timeLimit)
  const args: Argument[] = [
    'serve',
    '--config',
    `${at.experimentsDir}/${server.configFile}`,
    '--host',
    '0.0.0.0',
    '--port',
    '0',
    '--advertise',
    { raw: '"$(hostname)"' },
    '--endpoint-json',
    endpointFile(at),
  ]
  return makeJob(at, {
    name: 'server',
    summary: `serve ${server.model} on ${server.gpus} GPU${server.gpus === 1 ? '' : 's'}`,
    resources,
    foreign: true,
    pieces: [
      ...(server.ray && resources.nodes > 1 ? [startRay(server.ray, resources)] : []),
      endWithConsumers(consumers),
      runOurs('serve, on any free port, and tell where only when the model answers', args),
    ],
  })
}

/** A Ray head on the first node and a worker on each other one, waited for and taken down with the job. */
export function startRay(
  { port, variables }: NonNullable<ServerRequest['ray']>,
  { nodes, gpusPerNode }: LaunchJob['resources'],
): ScriptPiece {
  return {
    about: `Ray over ${nodes} nodes`,
    lines: [
      ...Object.entries(variables).map(([name, value]) => `export ${name}=${value}`),
      'mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")',
      `ray_port=${port === 0 ? '$((20000 + SLURM_JOB_ID % 20000))' : port}`,
      `export RAY_ADDRESS="\${hosts[0]}:$ray_port"`,
      'teardown() { srun --overlap --nodes="$SLURM_NNODES" --ntasks-per-node=1 ray stop --force > /dev/null 2>&1; }',
      `srun --overlap --nodes=1 --ntasks=1 -w "\${hosts[0]}" ray start --head --port="$ray_port" --num-gpus=${gpusPerNode} --block & helpers+=($!)`,
      'pause 3',
      `for host in "\${hosts[@]:1}"; do`,
      `  srun --overlap --nodes=1 --ntasks=1 -w "$host" ray start --address="$RAY_ADDRESS" --num-gpus=${gpusPerNode} --block & helpers+=($!)`,
      '  pause 1',
      'done',
      'for ((look = 1; ; look++)); do',
      `  if [ "$(ray list nodes --filter state=ALIVE --format json 2> /dev/null | grep -c '"node_id"')" -ge ${nodes} ]; then break; fi`,
      `  if [ "$look" -ge 60 ]; then note 'Ray has fewer than ${nodes} nodes after 600 s'; exit 69; fi`,
      '  pause 10',
      'done',
    ],
  }
}
