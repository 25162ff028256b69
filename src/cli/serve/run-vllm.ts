import { UserError } from '../../core/errors.ts'
import type { EngineFile } from '../../formats/engine-yaml.ts'
import { servedName } from '../../formats/vllm-command.ts'
import { note } from '../output.ts'
import { startHere, startOnHosts } from './replicas.ts'
import { stop } from './running.ts'
import { announce, inboundKey, type ServeOptions, saveAddresses, withdraw } from './serve-engine.ts'
import { watchReplicas } from './watch-replicas.ts'

/**
 * Starts the model servers a file describes and tells where they are when all of them answer. One that ends later is taken
 * off the list; the last one that ends, ends us.
 */
export async function runVllm(file: EngineFile, options: ServeOptions, signal: AbortSignal): Promise<void> {
  if (!file.vllm_server) return
  const settings = { ...file.vllm_server, ...(options.replicas !== undefined && { num_replicas: options.replicas }) }
  const endpointJson = options.endpointJson ?? endpointPath(file)
  const { apiKey, ...key } = serverKey(options)
  const told = { ...options, ...key, ...(endpointJson !== undefined && { endpointJson }) }
  const hosts = options.hosts?.split(',').filter((host) => host !== '') ?? []
  if (options.hosts !== undefined && hosts.length === 0)
    throw new UserError('--hosts: expected names with commas between, got none', 'for example --hosts n1,n2')
  await withdraw(endpointJson)
  const groups =
    hosts.length > 0 ? await startOnHosts(hosts, settings, told, apiKey) : await startHere(file, settings, told, apiKey)
  try {
    const found = await Promise.all(groups.map(async (group) => ({ group, urls: await group.answers(signal) })))
    const model = servedName(settings, file.engine.model ?? null)
    if (key.madeKey && endpointJson === undefined)
      note(`callers must send this key, which is shown only here: ${key.madeKey}`)
    await announce({ engine: 'vllm', model, origins: found.flatMap(({ urls }) => urls) }, told)
    await watchReplicas(found, (left) => saveAddresses(model, left, told), signal)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await Promise.all(groups.map(({ server }) => stop(server)))
    for (const file of [endpointJson, ...groups.map((group) => group.endpointJson)]) await withdraw(file)
  }
}

/**
 * The key of model servers: that of --key-env, else of VLLM_API_KEY, which vLLM reads, else one that is made where other
 * machines can reach them. Servers get it in their environment, never as an argument.
 */
function serverKey(options: ServeOptions): {
  readonly apiKey: string | null
  readonly keyEnv?: string
  readonly madeKey: string | null
} {
  const named = options.keyEnv ?? (options.key && process.env.VLLM_API_KEY ? 'VLLM_API_KEY' : undefined)
  // Copies on other nodes are reached from everywhere, whatever this one listens on.
  const host = options.hosts === undefined ? options.host : '0.0.0.0'
  const { apiKey, isNew } = inboundKey({ key: options.key, host }, named)
  return { apiKey, ...(named !== undefined && { keyEnv: named }), madeKey: isNew ? apiKey : null }
}

function endpointPath({ engine, backend, vllm_server }: EngineFile): string | undefined {
  return engine.vllm_local?.endpoint_json ?? vllm_server?.endpoint_json_path ?? backend?.endpoint_json_path ?? undefined
}
