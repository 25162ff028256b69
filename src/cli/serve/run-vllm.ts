import { type ChildProcess, spawn } from 'node:child_process'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { EngineFile, VllmServerSettings } from '../../formats/engine-yaml.ts'
import { renderVllmCommand, type VllmCommand } from '../../formats/vllm-command.ts'
import { expired, sleep, withDeadline } from '../../lib/deadline.ts'
import { codeOf } from '../../lib/files.ts'
import { findProgram } from '../../lib/programs.ts'
import { shellQuote } from '../../lib/shell.ts'
import { makeEngine } from '../../plugins.ts'
import { type Balancer, serveBalanced } from '../../server/balance.ts'
import { note } from '../output.ts'
import { freePort } from './free-port.ts'
import { withoutUnknownFlags } from './known-flags.ts'
import { advertised, announce, type ServeOptions, withdraw } from './serve-engine.ts'

/** How long a server gets to end by itself. */
const graceSec = 30

/** Starts the model servers a file describes, tells when all of them answer, and ends with them: whoever goes first. */
export async function runVllm(file: EngineFile, options: ServeOptions, signal: AbortSignal): Promise<void> {
  if (!file.vllm_server) return
  const endpointJson = options.endpointJson ?? endpointPath(file)
  const told = { ...options, ...(endpointJson !== undefined && { endpointJson }) }
  await withdraw(endpointJson)
  const replicas = await replicasOf(file, file.vllm_server, options)
  const servers = replicas.map(({ command }) => start(command))
  const gone = Promise.race(servers.map((server) => server.gone))
  gone.catch(() => {})
  let front: Balancer | null = null
  try {
    const origins = replicas.map(({ host, port }) => `http://${host}:${port}`)
    await Promise.all(
      replicas.map(({ command }, i) => answers(gone, origins[i] ?? '', command.modelName, file, signal)),
    )
    const asked = options.port ?? file.backend?.api_port ?? 8000
    front = origins.length > 1 ? await serveBalanced(origins, options.host, asked) : null
    const origin = advertised(front?.origin ?? origins[0] ?? '', options)
    await announce({ engine: 'vllm', model: replicas[0]?.command.modelName ?? '', origin }, told)
    await Promise.race([gone, untilAborted(signal)])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await front?.close()
    await Promise.all(servers.map(stop))
    await withdraw(endpointJson)
  }
}

interface Replica {
  readonly command: VllmCommand
  /** Where it is asked from this machine. */
  readonly host: string
  readonly port: number
}

/** A single server listens where it was asked to; several listen on ports of their own, each with its share of the GPUs. */
async function replicasOf(file: EngineFile, settings: VllmServerSettings, options: ServeOptions): Promise<Replica[]> {
  const asked = options.port ?? file.backend?.api_port ?? 8000
  const model = file.engine.model ?? null
  const count = settings.num_replicas
  const each = settings.tensor_parallel_size * settings.pipeline_parallel_size * settings.data_parallel_size
  const gpus = process.env.CUDA_VISIBLE_DEVICES?.split(',') ?? Array.from({ length: count * each }, (_, i) => String(i))
  const made: Replica[] = []
  for (let i = 0; i < count; i++) {
    const port = count > 1 || asked === 0 ? await freePort() : asked
    const listen = count > 1 ? '127.0.0.1' : options.host
    const command = withRay(
      await withoutUnknownFlags(renderVllmCommand(settings, { host: listen, port, model })),
      settings,
    )
    const env = count > 1 ? { CUDA_VISIBLE_DEVICES: gpus.slice(i * each, (i + 1) * each).join(',') } : {}
    // Who listens on all addresses answers on this one too.
    const host = listen === '0.0.0.0' ? '127.0.0.1' : listen
    made.push({ command: { ...command, env: { ...command.env, ...env } }, host, port })
  }
  return made
}

/** A server that was started on a Ray cluster spreads over it. */
function withRay(command: VllmCommand, { command: other }: VllmServerSettings): VllmCommand {
  const flag = '--distributed-executor-backend'
  if (!process.env.RAY_ADDRESS || other || command.argv.includes(flag)) return command
  return { ...command, argv: [...command.argv, flag, 'ray'] }
}

/** A process that is looked after, with everything it starts. */
interface Running {
  readonly child: ChildProcess
  /** Rejects when it ends by itself. */
  readonly gone: Promise<never>
  readonly killAll: (name: NodeJS.Signals) => void
}

function start({ argv: [name = '', ...args], env }: VllmCommand): Running {
  const program = findProgram(name)
  if (program === null) {
    throw new UserError(
      `expected the program ${name}, which starts the model server, found none on this machine`,
      'install it (pip install vllm) where PATH finds it, or give the address of a running server with --api-base',
    )
  }
  note(`starts ${[name, ...args].map(shellQuote).join(' ')}`)
  // Where it can be had, the server is told to die with us even if we are killed.
  const guard = findProgram('setpriv')
  const [first = program, ...rest] = guard === null ? [program] : [guard, '--pdeathsig', 'TERM', program]
  // What the server prints is news; stdout is for the result.
  const child = spawn(first, [...rest, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 2, 2],
    detached: true,
  })
  const killAll = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch (error) {
      // Nobody is left.
      if (codeOf(error) !== 'ESRCH') throw error
    }
  }
  const atExit = () => killAll('SIGKILL')
  process.once('exit', atExit)
  child.once('exit', () => process.off('exit', atExit))
  const gone = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new BoundaryError('model', `${name} could not be started: ${error.message}`)))
    child.once('exit', (code, by) =>
      reject(new BoundaryError('model', `${name} ended with ${by ?? `exit code ${code}`}`)),
    )
  })
  gone.catch(() => {})
  return { child, gone, killAll }
}

/** Waits until the server has the model, as often and as patiently as its file says. */
async function answers(
  gone: Promise<never>,
  origin: string,
  model: string,
  { backend }: EngineFile,
  signal: AbortSignal,
): Promise<void> {
  const attempts = backend?.healthcheck_max_attempts ?? 120
  const delaySec = backend?.healthcheck_retry_delay ?? 15
  const engine = await makeEngine('openai-compatible', { api_base: `${origin}/v1`, model, healthcheck_max_attempts: 1 })
  for (let attempt = 1; ; attempt++) {
    const health = await Promise.race([engine.health(signal), gone])
    if (health.healthy) return
    if (attempt >= attempts) {
      throw new BoundaryError('model', `the server does not answer after ${attempts} looks: ${health.reason}`)
    }
    note(`look ${attempt} of ${attempts}: not yet`)
    await Promise.race([sleep(delaySec * 1000, signal), gone])
  }
}

async function stop({ child, gone, killAll }: Running): Promise<void> {
  killAll('SIGTERM')
  const ended = await withDeadline(graceSec, new AbortController().signal, () => gone.catch(() => 'gone' as const))
  if (ended === expired) child.unref()
  // Workers may outlive the process that started them.
  killAll('SIGKILL')
}

function endpointPath({ engine, backend, vllm_server }: EngineFile): string | undefined {
  return engine.vllm_local?.endpoint_json ?? vllm_server?.endpoint_json_path ?? backend?.endpoint_json_path ?? undefined
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
