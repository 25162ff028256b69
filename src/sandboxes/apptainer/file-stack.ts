import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FreezeOptions } from '../../core/sandbox.ts'
import type { SystemChanges } from '../../core/system-files.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { asRootInside, cleanEnv, hasSubordinateIds } from '../namespaces/as-root-inside.ts'
import { findSystemChanges, listChanges, setAside } from '../namespaces/overlay-system.ts'
import type { Instance } from './instance.ts'

/** A temporary layer over the agent's files. */
interface Scratch {
  readonly dir: string
  /** Moves system files that were set aside back to where the agent had them. */
  readonly putBack: () => Promise<void>
}

/**
 * The files of a sandbox from one freeze to the next: the agent's files and, when changes must not last, an overlay on
 * top that takes all writes.
 */
export class FileStack {
  private scratch: Scratch | null = null
  private count = 0

  constructor(private readonly instance: Instance) {}

  /** Stops the instance and sets up the files for the next start. */
  async renew({ system = 'agent', scratch = false }: FreezeOptions): Promise<SystemChanges | null> {
    const { instance } = this
    const before = this.scratch
    await instance.stop()
    this.scratch = null
    instance.scratchDir = null
    await before?.putBack()
    if (before) await removeTree(before.dir).catch(() => {})
    const found = system === 'image' ? await instance.withImage((root) => this.findChanges(root)) : []
    if (found.length > 0 || scratch) {
      const number = this.count++
      const putBack = await setAside(found, join(instance.options.dir, `aside-${number}`), this.asRoot)
      this.scratch = { dir: join(instance.options.dir, `scratch-${number}`), putBack }
      instance.scratchDir = this.scratch.dir
    }
    return system === 'image' ? listChanges(found) : null
  }

  private findChanges(root: string) {
    const { dir, env } = this.instance.options
    const overlay = { target: '', upper: join(dir, 'overlay', 'upper'), lowers: [root] }
    const path = env.PATH ?? pathOfImage(root) ?? cleanEnv.PATH
    return findSystemChanges([overlay], path.split(':'), this.asRoot)
  }

  private get asRoot() {
    const mapping = ['--user', '--map-root-user', ...(hasSubordinateIds() ? ['--map-auto'] : [])]
    return asRootInside({ mode: this.instance.options.apptainer.isRoot ? 'root' : 'user', unshare: mapping })
  }
}

/** The PATH of an image from a registry; null for others. */
function pathOfImage(root: string): string | null {
  const file = join(root, '.singularity.d/env/10-docker2singularity.sh')
  const isFile = lstatSync(file, { throwIfNoEntry: false })?.isFile()
  return (isFile && /^export PATH="?([^"$\n]+)"?$/m.exec(readFileSync(file, 'utf8'))?.[1]) || null
}
