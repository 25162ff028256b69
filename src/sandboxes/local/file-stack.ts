import { join } from 'node:path'
import type { FreezeOptions } from '../../core/sandbox.ts'
import type { SystemChanges } from '../../core/system-files.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { asRootInside, cleanEnv } from '../namespaces/as-root-inside.ts'
import { findSystemChanges, listChanges, setAside } from '../namespaces/overlay-system.ts'
import type { Machine } from './machine.ts'

/** A temporary layer over the agent's files. */
interface Scratch {
  readonly upper: string
  /** Moves system files that were set aside back to where the agent had them. */
  readonly putBack: () => Promise<void>
}

/**
 * The files of a machine from one freeze to the next: the agent's files and, when changes must not last, a layer on top
 * that takes all writes.
 */
export class FileStack {
  private scratch: Scratch | null = null
  private count = 0

  constructor(
    private readonly machine: Machine,
    private readonly dir: string,
  ) {}

  /** The directories that programs inside could write to, top to bottom. */
  get uppers(): readonly string[] {
    return [...(this.scratch ? [this.scratch.upper] : []), this.machine.options.upper]
  }

  /** Kills every process and sets up the files for what comes next. */
  async renew({ system = 'agent', scratch = false }: FreezeOptions): Promise<SystemChanges | null> {
    const { machine } = this
    const { layers, upper, privileges } = machine.options
    const before = this.scratch
    if (before === null && !scratch) await machine.restart()
    else await machine.halt()
    this.scratch = null
    await before?.putBack()
    if (before) await removeTree(before.upper).catch(() => {})
    const found = system === 'image' ? await this.findChanges() : []
    if (found.length > 0 || scratch) {
      if (machine.alive) await machine.halt()
      const number = this.count++
      const putBack = await setAside(found, join(this.dir, `aside-${number}`), asRootInside(privileges))
      this.scratch = { upper: join(this.dir, `scratch-${number}`), putBack }
      await machine.resume({ layers: [...layers, upper], upper: this.scratch.upper })
    } else if (!machine.alive) await machine.resume({ layers, upper })
    return system === 'image' ? listChanges(found) : null
  }

  private findChanges() {
    const { base, layers, upper, env, privileges } = this.machine.options
    const overlays = base.overlays.map(({ name, target, lower, hides = [] }) => ({
      target: target === '' ? '' : `/${target}`,
      upper: join(upper, name),
      lowers: [...layers.map((layer) => join(layer, name)).reverse(), ...hides, lower],
    }))
    return findSystemChanges(overlays, (env.PATH ?? cleanEnv.PATH).split(':'), asRootInside(privileges))
  }
}
