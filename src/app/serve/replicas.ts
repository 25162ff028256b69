import { join, resolve } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { loadEndpoint } from '../../formats/endpoint-json.ts'
import type { EngineFile, VllmServerSettings } from '../../formats/engine-yaml.ts'
import { renderVllmCommand, type VllmCommand } from '../../formats/vllm-command.ts'
import { sleep } from '../../lib/deadline.ts'
import { execProgram } from '../../lib/exec-program.ts'
import { exists } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { makeEngine } from '../../plugins/make.ts'
import type { Notify } from '../job/tasks-request.ts'
import { advertised, type ServeRequest, withdraw } from './endpoint.ts'
import { freePort, type ServerProcess, start, stop } from './server-process.ts'

/** Copies of a model that live and die together: one on this machine, or all on another node. */
export interface ReplicaGroup {
  readonly server: ServerProcess
  /** Waits until all of them answer; resolves to their public addresses. */
  answers(signal: AbortSignal): Promise<readonly string[]>
  /** A file that must be removed with them. */
  readonly endpointJson?: string
}

/** The settings that copies are started with. */
export interface ReplicaRequest {
  readonly file: EngineFile
  readonly settings: VllmServerSettings
  readonly options: ServeRequest
  /** The key they require from callers. */
  readonly apiKey: string | null
  readonly notify: Notify
}

/**
 * Starts copies on this machine: a single one listens on the given port, several on consecutive ports, each with its
 * share of the GPUs.
 */
export async function startHere(request: ReplicaRequest): Promise<readonly ReplicaGroup[]> {
  const { file, settings, options, apiKey, notify } = request
  const asked = options.port ?? file.backend?.api_port ?? 8000
  return startAll(Array.from({ length: settings.num_replicas }).keys(), async (i) => {
    const port = asked === 0 ? await freePort() : asked + i
    const rendered = renderVllmCommand(settings, { host: options.host, port, model: file.engine.model ?? null })
    const command = withRay(await withoutUnknownFlags(rendered, notify), settings)
    refuseKeyArgument(command)
    const env = { ...command.env, ...shareOfGpus(settings, i), VLLM_API_KEY: apiKey ?? '' }
    const server = await start(command.argv, env, notify)
    // A server listening on all interfaces answers on loopback too.
    const host = options.host === '0.0.0.0' ? '127.0.0.1' : options.host
    return {
      server,
      answers: async (signal) => {
        await hasModel({ server, apiBase: `http://${host}:${port}/v1`, model: command.modelName }, request, signal)
        return [advertised(`http://${options.host}:${port}`, options)]
      },
    }
  })
}

/** Starts one after the other; if one fails to start, the earlier ones are stopped. */
async function startAll<T>(
  items: Iterable<T>,
  startOne: (item: T) => Promise<ReplicaGroup>,
): Promise<readonly ReplicaGroup[]> {
  const groups: ReplicaGroup[] = []
  try {
    for (const item of items) groups.push(await startOne(item))
    return groups
  } catch (error) {
    await Promise.all(groups.map(({ server }) => stop(server)))
    throw error
  }
}

/** Refuses a key in arguments, because every user of the machine can see them. */
function refuseKeyArgument({ argv }: VllmCommand): void {
  if (!argv.some((word) => /^--api[-_]key(=|$)/.test(word))) return
  throw new UserError(
    'vllm_server: expected no --api-key in its arguments, which every user of the machine can see',
    'remove it, and pass the name of the environment variable with the key in --key-env',
  )
}

/** The GPUs for one copy; with Ray, Ray assigns them. */
function shareOfGpus(settings: VllmServerSettings, index: number): Readonly<Record<string, string>> {
  const count = settings.num_replicas
  if (count === 1 || process.env.RAY_ADDRESS) return {}
  const each = settings.tensor_parallel_size * settings.pipeline_parallel_size * settings.data_parallel_size
  const gpus = process.env.CUDA_VISIBLE_DEVICES?.split(',') ?? Array.from({ length: count * each }, (_, i) => String(i))
  return { CUDA_VISIBLE_DEVICES: gpus.slice(index * each, (index + 1) * each).join(',') }
}

/** Adjusts a server's command so that it spreads over its Ray cluster. */
function withRay(command: VllmCommand, { command: other }: VllmServerSettings): VllmCommand {
  const flag = '--distributed-executor-backend'
  if (!process.env.RAY_ADDRESS || other || command.argv.includes(flag)) return command
  return { ...command, argv: [...command.argv, flag, 'ray'] }
}

/** Waits until the server has the model, with the retries configured in its file. */
async function hasModel(
  { server, apiBase, model }: { readonly server: ServerProcess; readonly apiBase: string; readonly model: string },
  { file: { backend }, apiKey, notify }: ReplicaRequest,
  signal: AbortSignal,
): Promise<void> {
  const { gone } = server
  const attempts = backend?.healthcheck_max_attempts ?? 120
  const delaySec = backend?.healthcheck_retry_delay ?? 15
  const own = apiKey === null ? {} : { api_key: apiKey }
  const engine = await makeEngine('openai-compatible', {
    api_base: apiBase,
    ...{ model, healthcheck_max_attempts: 1, ...own },
  })
  for (let attempt = 1; ; attempt++) {
    const health = await Promise.race([engine.health(signal), gone])
    if (health.healthy) return
    if (attempt >= attempts) {
      throw new BoundaryError('model', `the server did not answer after ${attempts} checks: ${health.reason}`)
    }
    notify(`check ${attempt} of ${attempts}: no answer yet`)
    await Promise.race([sleep(delaySec * 1000, signal), gone])
  }
}

/** Starts copies on nodes of this Slurm job; on each node, this program manages its share. */
export async function startOnHosts(
  hosts: readonly string[],
  { settings, options, apiKey, notify }: Omit<ReplicaRequest, 'file'>,
): Promise<readonly ReplicaGroup[]> {
  const { num_replicas: count } = settings
  const { config, endpointJson } = options
  if (config === undefined || endpointJson === undefined)
    throw new UserError('expected --config and --endpoint-json with --hosts, got only --hosts', 'add the two files')
  const shares = hosts.map((host, i) => ({ host, count: Math.floor((count + hosts.length - 1 - i) / hosts.length) }))
  return startAll(shares.filter((each) => each.count > 0).entries(), async ([i, share]) => {
    const told = resolve(`${endpointJson}.${i}`)
    await withdraw(told)
    const words = ['serve', '--config', config, '--replicas', String(share.count), '--host', '0.0.0.0', '--port', '0']
    const program = [process.execPath, join(packageRoot, 'bin/ot-agent.js')]
    // The key is passed in the step's environment and is the same for all copies.
    const step = ['srun', '--overlap', '--export=ALL', '--nodes=1', '--ntasks=1', `--nodelist=${share.host}`]
    const key = apiKey === null ? ['--no-key'] : ['--key-env', keyOfSteps]
    const env = apiKey === null ? {} : { [keyOfSteps]: apiKey }
    const server = await start([...step, ...program, ...words, ...key, '--endpoint-json', told, '--quiet'], env, notify)
    return { server, endpointJson: told, answers: (signal) => readWhenThere(told, server, env, signal) }
  })
}

const keyOfSteps = 'OT_AGENT_SERVE_KEY'

async function readWhenThere(
  path: string,
  { gone }: ServerProcess,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  while (!(await exists(path))) await Promise.race([sleep(500, signal), gone])
  return (await loadEndpoint(path, { ...process.env, ...env })).endpointUrls
}

/** Drops options that this version of the server lacks, except those the user added. */
async function withoutUnknownFlags(command: VllmCommand, notify: Notify): Promise<VllmCommand> {
  const { argv, settable } = command
  const [program = ''] = argv
  if (settable.length === 0) return command
  const help = await execProgram([program, 'serve', '--help=all'], { timeoutSec: 180 })
  const known = new Set(help.stdout.match(/--[a-z][a-z0-9-]*/g) ?? [])
  // A server without help output gets every option.
  if (!known.has('--host') && !known.has('--port')) return command
  const unknown = settable.filter((flag) => !known.has(flag))
  for (const flag of unknown) notify(`this server does not support ${flag}; not passing it`)
  return { ...command, argv: dropFlags(argv, new Set(unknown)) }
}

/** Removes the given flags and their values. */
function dropFlags(argv: readonly string[], flags: ReadonlySet<string>): string[] {
  return argv.filter((word, i) => {
    if (flags.has(word)) return false
    const before = argv[i - 1]
    return !(before !== undefined && flags.has(before) && !word.startsWith('--'))
  })
}
