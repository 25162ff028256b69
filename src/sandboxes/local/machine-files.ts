import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Base } from './base.ts'
import { Holder, overlayLine } from './holder.ts'
import type { Privileges } from './privileges.ts'
import { resolverFile } from './routes.ts'

/** What a machine's root is made of. */
export interface MachineFiles {
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  /** Receives every change; afterwards it is itself a layer. */
  readonly upper: string
}

interface Place {
  readonly home: string
  readonly dir: string
  readonly base: Base
  readonly privileges: Privileges
}

/** Mounts files, each time with working directories that no earlier mount can be using still. */
export async function hold({ base, dir, home, privileges }: Place, files: MachineFiles): Promise<Holder> {
  const places = {
    ...files,
    home,
    work: `${files.upper}.work-${randomBytes(3).toString('hex')}`,
    merged: join(dir, 'merged'),
  }
  mkdirSync(places.merged, { recursive: true })
  for (const { name } of base.overlays) {
    makeDir(join(files.upper, name), 0o755)
    makeDir(join(places.work, name), 0o700)
  }
  const overlays = join(dir, overlaysFile)
  writeFileSync(overlays, base.overlays.map((overlay) => overlayLine(overlay, places, privileges)).join(''))
  return Holder.start(privileges, overlays, home)
}

/** Lists what is mounted, for `mount`; it is there as long as the machine's directory is. */
export const overlaysFile = 'overlays'

/** Its mode does not depend on our umask: it decides what users inside may enter. */
export function makeDir(path: string, mode: number): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
}

/** As a container engine does: whatever an image says, names are asked for where this machine's network has them. */
export function writeResolver({ overlays }: Base, upper: string): void {
  const [root] = overlays
  if (!root || !lstatSync(join(root.lower, 'etc'), { throwIfNoEntry: false })?.isDirectory()) return
  makeDir(join(upper, root.name, 'etc'), 0o755)
  writeFileSync(join(upper, root.name, 'etc/resolv.conf'), resolverFile().text, { mode: 0o644 })
}
