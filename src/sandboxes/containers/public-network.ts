import type { ContainerEngine } from './container-engine.ts'
import { makeNetwork, removeNetwork } from './networks.ts'
import type { EngineServer } from './server.ts'

/** What a sandbox with a public network is connected to. */
export interface PublicNetwork {
  readonly name: string
  /** Call this before using the network. */
  ready(): Promise<void>
  remove(): Promise<void>
}

/** An existing network of the engine, shared by sandboxes. */
export function sharedNetwork(name: string): PublicNetwork {
  return { name, ready: async () => {}, remove: async () => {} }
}

/** A network for one sandbox, made when first needed, so that no two sandboxes can reach each other. */
export function ownNetwork(
  engine: ContainerEngine,
  server: EngineServer,
  id: string,
  labels: Readonly<Record<string, string>>,
): PublicNetwork {
  const name = `${id}-net`
  let made: Promise<void> | undefined
  return {
    name,
    ready: () => {
      made ??= makeNetwork(engine, server, { name, labels, closed: false })
      return made
    },
    remove: async () => {
      if (made === undefined) return
      await made.catch(() => {})
      await removeNetwork(engine, name)
    },
  }
}
