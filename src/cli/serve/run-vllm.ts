import { UserError } from '../../core/errors.ts'
import type { EngineFile } from '../../formats/engine-yaml.ts'
import { servedName } from '../../formats/vllm-command.ts'
import { note } from '../output.ts'
import { type ReplicaGroup, startHere, startOnHosts } from './replicas.ts'
import { stop } from './running.ts'
import { announce, type ServeOptions, saveAddresses, stopped, withdraw } from './serve-engine.ts'

/**
 * Starts the model servers a file describes and tells where they are when all of them answer. One that ends later is taken
 * off the list; the last one that ends, ends us.
 */
export async function runVllm(file: EngineFile, options: ServeOptions, signal: AbortSignal): Promise<void> {
  if (!file.vllm_server) return
  const settings = { ...file.vllm_server, ...(options.replicas !== undefined && { num_replicas: options.replicas }) }
  const endpointJson = options.endpointJson ?? endpointPath(file)
  const told = { ...options, ...(endpointJson !== undefined && { endpointJson }) }
  const hosts = options.hosts?.split(',').filter((host) => host !== '') ?? []
  if (options.hosts !== undefined && hosts.length === 0)
    throw new UserError('--hosts: expected names with commas between, got none', 'for example --hosts n1,n2')
  await withdraw(endpointJson)
  const groups = hosts.length > 0 ? await startOnHosts(hosts, settings, told) : await startHere(file, settings, told)
  try {
    const found = await Promise.all(groups.map(async (group) => ({ group, urls: await group.answers(signal) })))
    const model = servedName(settings, file.engine.model ?? null)
    await announce({ engine: 'vllm', model, origins: found.flatMap(({ urls }) => urls) }, told)
    const onEnd = (origins: readonly string[]) => saveAddresses(model, origins, endpointJson)
    await Promise.race([untilAllGone(found, onEnd), stopped(signal)])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await Promise.all(groups.map(({ server }) => stop(server)))
    for (const file of [endpointJson, ...groups.map((group) => group.endpointJson)]) await withdraw(file)
  }
}

/** Rejects with what the last one died of; tells who is left whenever one dies. */
async function untilAllGone(
  found: readonly { readonly group: ReplicaGroup; readonly urls: readonly string[] }[],
  onEnd: (left: readonly string[]) => Promise<void>,
): Promise<never> {
  const alive = new Set(found)
  return new Promise<never>((_, reject) => {
    for (const each of found)
      each.group.server.gone.catch(async (error: unknown) => {
        alive.delete(each)
        if (alive.size === 0) return reject(error)
        note(`${each.urls.join(', ')}: ${error instanceof Error ? error.message : error}; ${alive.size} go on`)
        await onEnd([...alive].flatMap(({ urls }) => urls)).catch(reject)
      })
  })
}

function endpointPath({ engine, backend, vllm_server }: EngineFile): string | undefined {
  return engine.vllm_local?.endpoint_json ?? vllm_server?.endpoint_json_path ?? backend?.endpoint_json_path ?? undefined
}
