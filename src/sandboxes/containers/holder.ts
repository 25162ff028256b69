import { stopContainer } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'
import { gone, inspectContainer } from './container-state.ts'
import { readHosts } from './hosts.ts'
import { type Layer, openLayer } from './layer.ts'

/** A container that holds the agent's files, and in which nothing runs once it is stopped. */
export interface Holder {
  readonly container: string
  /** An image of it, once one exists. */
  image: string | null
  /** Whether its image is the task's own, so that the engine can list the changes. */
  readonly isDirect: boolean
  /** Lines of its /etc/hosts, which is not a file of the container itself. */
  readonly hosts: readonly string[]
  /** The directories of its PATH. */
  readonly searchPath: readonly string[]
  /** Everything that differs from the task's image, if it can be read without the engine. */
  readonly layer: Layer | null
  isStopped: boolean
}

interface HolderOptions {
  readonly isDirect: boolean
  readonly hasPlainLayers: boolean
}

/** Finds out what must be known about a container before it is stopped. */
export async function findHolder(
  engine: ContainerEngine,
  container: string,
  { isDirect, hasPlainLayers }: HolderOptions,
): Promise<Holder> {
  const state = await inspectContainer(engine, container)
  if (state === null) throw gone()
  const hosts = await readHosts({ engine, container }, state.hostsPath, [state.hostname, container])
  const path = state.env.findLast((line) => line.startsWith('PATH='))?.slice(5) ?? ''
  const layer = isDirect && hasPlainLayers ? await openLayer(state.layer) : null
  return { container, image: null, isDirect, hosts, searchPath: path.split(':'), layer, isStopped: false }
}

/** Ends every process in it; a second call does nothing. */
export async function stopHolder(engine: ContainerEngine, holder: Holder): Promise<void> {
  if (!holder.isStopped) await stopContainer(engine, holder.container)
  holder.isStopped = true
}
