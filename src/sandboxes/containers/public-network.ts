import type { ContainerEngine } from './container-engine.ts'
import { makeNetwork, removeNetwork } from './networks.ts'
import type { EngineServer } from './server.ts'

/** What a sandbox with a public network is connected to. */
export interface PublicNetwork {
  readonly name: string
  /** Call before it is used. */
  ready(): Promise<void>
  remove(): Promise<void>
}

/** A network that the engine has already, and that sandboxes share. */
export function sharedNetwork(name: string): PublicNetwork {
  return { name, ready: async () => {}, remove: async () => {} }
}

/** A network that is made when it is first needed, for one sandbox, so that no two of them reach each other. */
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
