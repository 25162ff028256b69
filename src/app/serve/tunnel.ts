import { UserError } from '../../core/errors.ts'
import type { VllmServerSettings } from '../../formats/engine-yaml.ts'
import { sleep } from '../../lib/deadline.ts'
import { findProgram } from '../../lib/programs.ts'
import { makeEngine } from '../../plugins/make.ts'
import type { Notify } from '../job/tasks-request.ts'
import { type ServerProcess, start, stop } from './server-process.ts'

export type TunnelSettings = NonNullable<VllmServerSettings['tunnel']>

/** A server to make reachable from outside. */
export interface TunnelRequest {
  readonly tunnel: TunnelSettings
  /** Its address on this machine. */
  readonly origin: string
  readonly model: string
  readonly apiKey: string
  readonly notify: Notify
}

/** After this many consecutive failures of the public address, the program is restarted. */
const mostMisses = 3

/** Rejects what a tunnel cannot do, before spending an hour loading a model. */
export function checkTunnel({ tunnel, num_replicas }: VllmServerSettings, hosts: readonly string[]): void {
  if (!tunnel) return
  if (num_replicas > 1 || hosts.length > 0)
    throw new UserError(
      'vllm_server.tunnel: expected one copy of the model on this machine, got several',
      'set num_replicas: 1, or open a tunnel to your own load balancer',
    )
  const [program = ''] = tunnel.command
  if (findProgram(program) === null)
    throw new UserError(
      `vllm_server.tunnel.command: expected a program, found no ${program} on this machine`,
      'install it on the PATH, or remove the tunnel',
    )
}

/**
 * Keeps a tunnel's program running until the signal is aborted, restarting it when it ends or its address stops
 * answering.
 */
export async function holdTunnel(
  request: TunnelRequest,
  onOpen: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { tunnel, origin, notify } = request
  const words = tunnel.command.map((word) => word.replaceAll('{port}', new URL(origin).port))
  let isTold = false
  for (let waitSec = 1; !signal.aborted; waitSec = Math.min(60, waitSec * 2)) {
    const program = await start(words, {}, notify)
    try {
      const ended = await watch(program, request, signal, async () => {
        waitSec = 1
        if (isTold) return
        isTold = true
        await onOpen()
      })
      notify(`the tunnel ${ended}; reopening it in ${waitSec} s`)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      await stop(program)
    }
    await sleep(waitSec * 1000, signal).catch(() => {})
  }
}

/** Polls the public address; resolves to how it ended. */
async function watch(
  program: ServerProcess,
  { tunnel, model, apiKey }: TunnelRequest,
  signal: AbortSignal,
  onAnswer: () => Promise<void>,
): Promise<string> {
  const gone = program.gone.catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
  const apiBase = `${tunnel.url.replace(/\/+$/, '')}/v1`
  const options = { api_base: apiBase, api_key: apiKey, model, healthcheck_max_attempts: 1 }
  const engine = await makeEngine('openai-compatible', options)
  for (let misses = 0, answered = false; ; ) {
    // Poll more often until the first answer.
    const found = await Promise.race([gone, sleep((answered ? tunnel.check_sec : 1) * 1000, signal)])
    if (typeof found === 'string') return `ended (${found})`
    const health = await engine.health(signal)
    misses = health.healthy ? 0 : misses + 1
    if (health.healthy) await onAnswer()
    answered ||= health.healthy
    if (misses >= (answered ? mostMisses : 60)) return `does not answer at ${tunnel.url}`
  }
}
