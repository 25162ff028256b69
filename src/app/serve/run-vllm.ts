import { UserError } from '../../core/errors.ts'
import { type EngineFile, loadEngineFile, type VllmServerSettings } from '../../formats/engine-yaml.ts'
import { servedName } from '../../formats/vllm-command.ts'
import { untilAborted } from '../../lib/deadline.ts'
import type { Notify } from '../job/tasks-request.ts'
import { inboundKey, type Served, type ServeRequest, saveAddresses, withdraw } from './endpoint.ts'
import { startHere, startOnHosts } from './replicas.ts'
import { type ServerProcess, stop } from './server-process.ts'
import { checkTunnel, holdTunnel } from './tunnel.ts'

/** An engine file with model servers to start. */
export type VllmFile = EngineFile & { readonly vllm_server: VllmServerSettings }

/** Reads an engine file; null if it has no model server to start. */
export async function loadVllmFile(path: string): Promise<VllmFile | null> {
  const file = await loadEngineFile(path)
  return file.vllm_server ? { ...file, vllm_server: file.vllm_server } : null
}

export interface VllmControl {
  readonly notify: Notify
  /** Called once all of them answer; the file is the endpoint file, if one was written. */
  onServed(served: Served, endpointJson: string | undefined): Promise<void>
  readonly signal: AbortSignal
}

/**
 * Starts the model servers of a file and reports their addresses once all answer. A server that ends later is removed
 * from the list; when the last one ends, so do we.
 */
export async function runVllm(
  file: VllmFile,
  options: ServeRequest,
  { notify, onServed, signal }: VllmControl,
): Promise<void> {
  const settings = { ...file.vllm_server, ...(options.replicas !== undefined && { num_replicas: options.replicas }) }
  const endpointJson = options.endpointJson ?? endpointPath(file)
  const { apiKey, ...key } = serverKey(options, settings.tunnel != null)
  const told = { ...options, ...key, ...(endpointJson !== undefined && { endpointJson }) }
  const hosts = options.hosts?.split(',').filter((host) => host !== '') ?? []
  if (options.hosts !== undefined && hosts.length === 0)
    throw new UserError('--hosts: expected comma-separated names, got none', 'for example --hosts n1,n2')
  checkTunnel(settings, hosts)
  await withdraw(endpointJson)
  const asked = { file, settings, options: told, apiKey, notify }
  const groups = hosts.length > 0 ? await startOnHosts(hosts, asked) : await startHere(asked)
  try {
    const found = await Promise.all(groups.map(async (group) => ({ group, urls: await group.answers(signal) })))
    const model = servedName(settings, file.engine.model ?? null)
    if (key.madeKey && endpointJson === undefined)
      notify(`callers must send this key, which is shown only once: ${key.madeKey}`)
    const origins = found.flatMap(({ urls }) => urls)
    await saveAddresses(model, origins, told)
    await onServed({ engine: 'vllm', model, origins }, endpointJson)
    const watched = watchReplicas(found, { tell: (left) => saveAddresses(model, left, told), notify, signal })
    const { tunnel } = settings
    const [origin = ''] = origins
    if (!tunnel || apiKey === null) return await watched
    const onOpen = async () => {
      await saveAddresses(model, origins, { ...told, publicUrl: tunnel.url })
      notify(`reachable from outside at ${tunnel.url}`)
    }
    await withTunnel(watched, (inner) => holdTunnel({ tunnel, origin, model, apiKey, notify }, onOpen, inner), signal)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await Promise.all(groups.map(({ server }) => stop(server)))
    for (const file of [endpointJson, ...groups.map((group) => group.endpointJson)]) await withdraw(file)
  }
}

/** Waits for the servers; the tunnel stops with them, and a tunnel that cannot be started stops them. */
async function withTunnel(
  watched: Promise<void>,
  hold: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  // When the tunnel's failure stops the servers, this promise rejects later.
  watched.catch(() => {})
  const ended = new AbortController()
  const held = hold(AbortSignal.any([signal, ended.signal]))
  try {
    await Promise.race([watched, held])
  } finally {
    ended.abort()
    await held.catch(() => {})
  }
}

/**
 * The key for model servers: from --key-env, else from VLLM_API_KEY, which vLLM reads, else generated if other machines
 * can reach them. Servers get it through their environment, never as an argument.
 */
function serverKey(
  options: ServeRequest,
  isPublic: boolean,
): {
  readonly apiKey: string | null
  readonly keyEnv?: string
  readonly madeKey: string | null
} {
  const named = options.keyEnv ?? (options.key && process.env.VLLM_API_KEY ? 'VLLM_API_KEY' : undefined)
  if (isPublic && !options.key)
    throw new UserError(
      '--no-key: expected a key for a server with a tunnel, because anyone can reach it',
      'remove --no-key',
    )
  // Copies on other nodes and servers behind a tunnel are reachable from outside, whatever address this one listens on.
  const host = options.hosts === undefined && !isPublic ? options.host : '0.0.0.0'
  const { apiKey, isNew } = inboundKey({ key: options.key, host }, named)
  return { apiKey, ...(named !== undefined && { keyEnv: named }), madeKey: isNew ? apiKey : null }
}

function endpointPath({ engine, backend, vllm_server }: EngineFile): string | undefined {
  return engine.vllm_local?.endpoint_json ?? vllm_server?.endpoint_json_path ?? backend?.endpoint_json_path ?? undefined
}

/** Copies that answer, and their addresses. */
export interface FoundReplicas {
  readonly group: { readonly server: Pick<ServerProcess, 'gone'> }
  readonly urls: readonly string[]
}

interface Watching {
  /** Called with the remaining addresses. */
  tell(left: readonly string[]): Promise<void>
  readonly notify: Notify
  readonly signal: AbortSignal
}

/**
 * Waits until the signal is aborted, or throws the error of the last copy to die. Reports the remaining ones whenever
 * one dies, one report at a time; when this returns, no report is running or will start.
 */
export async function watchReplicas(
  found: readonly FoundReplicas[],
  { tell, notify, signal }: Watching,
): Promise<void> {
  const alive = new Set(found)
  let told = Promise.resolve()
  let ended = false
  const lastGone = new Promise<never>((_, reject) => {
    for (const each of found)
      each.group.server.gone.catch((error: unknown) => {
        alive.delete(each)
        if (alive.size === 0) reject(error)
        if (ended || alive.size === 0) return
        notify(`${each.urls.join(', ')}: ${error instanceof Error ? error.message : error}; ${alive.size} left`)
        told = told.then(() => tell([...alive].flatMap(({ urls }) => urls)))
        told.catch(reject)
      })
  })
  try {
    await Promise.race([lastGone, untilAborted(signal)])
  } finally {
    ended = true
    await told.catch(() => {})
  }
}
