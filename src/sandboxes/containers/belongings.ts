import { removeContainer, removeImage, removeVolume } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'

/** Everything made for one sandbox, recorded before it is made, so that all of it gets removed. */
export class Belongings {
  readonly containers = new Set<string>()
  readonly volumes = new Set<string>()
  readonly images = new Set<string>()
  /** Removals in the background, by container. */
  private readonly leaving = new Map<string, Promise<void>>()

  constructor(private readonly engine: ContainerEngine) {}

  /**
   * Removes a container that was replaced, and its own fresh directories. Its image stays: a newer one may be based on
   * it.
   */
  async forget(container: string): Promise<void> {
    await removeContainer(this.engine, container)
    this.containers.delete(container)
    const own = [...this.volumes].filter((name) => name.startsWith(`${container}-fresh-`))
    await Promise.all(own.map((name) => removeVolume(this.engine, name)))
    for (const name of own) this.volumes.delete(name)
  }

  /** The same without waiting; what fails now is retried when the sandbox is released. */
  forgetLater(container: string): void {
    const leaving = this.forget(container)
      .catch(() => {})
      .finally(() => this.leaving.delete(container))
    this.leaving.set(container, leaving)
  }

  /** Removes all containers in parallel, each once: engines refuse a second removal while the first is in progress. */
  async removeContainers(): Promise<void> {
    const leaving = [...this.leaving.values()]
    const others = [...this.containers].filter((name) => !this.leaving.has(name))
    await Promise.all([...leaving, ...others.map((name) => this.removeOne(name))])
    await Promise.all([...this.containers].map((name) => this.removeOne(name)))
  }

  /** Removes what only the containers used. */
  async removeRest(): Promise<void> {
    await Promise.all([...this.volumes].map((name) => removeVolume(this.engine, name)))
    for (const name of [...this.images].reverse()) await removeImage(this.engine, name)
  }

  private async removeOne(container: string): Promise<void> {
    await removeContainer(this.engine, container)
    this.containers.delete(container)
  }
}
