import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { ToolDir } from '../../core/sandbox.ts'
import type { User } from '../../core/task.ts'
import type { ControlGroup } from '../../lib/control-group.ts'
import type { Base, Overlay } from './base.ts'
import { Holder } from './holder.ts'
import { type Mount, mountWords } from './own-ids.ts'
import type { Privileges } from './privileges.ts'
import { resolverFile } from './routes.ts'

/** What a machine's root consists of. */
export interface MachineFiles {
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  /** Receives every change; afterwards it is itself a layer. */
  readonly upper: string
}

export interface MachineOptions extends MachineFiles {
  /** The directory that holds bases, layers and machines. */
  readonly home: string
  /** A private directory of this machine. */
  readonly dir: string
  readonly base: Base
  readonly privileges: Privileges
  /** Null where this process cannot make control groups. */
  readonly group: ControlGroup | null
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user?: User | undefined
  /** `public`: its own network with a way out; never the host's. */
  readonly network: 'public' | 'none'
  /** Shown read-only before the first command, so that no command can put a link in their place. */
  readonly toolDirs?: readonly ToolDir[] | undefined
  /** How much disk space programs may take; no limit by default. */
  readonly storageMb?: number | undefined
}

type Place = Pick<MachineOptions, 'home' | 'dir' | 'base' | 'privileges' | 'toolDirs'>

/** Mounts files, each time with working directories that no earlier mount can still be using. */
export async function hold(place: Place, files: MachineFiles): Promise<Holder> {
  const { base, dir, home, privileges } = place
  const places = {
    ...files,
    home,
    work: `${files.upper}.work-${randomBytes(3).toString('hex')}`,
    merged: mergedIn(home),
  }
  for (const { name } of base.overlays) {
    makeDir(join(files.upper, name), 0o755)
    makeDir(join(places.work, name), 0o700)
  }
  const overlays = base.overlays.flatMap((overlay) => overlayMounts(overlay, places, privileges))
  if (privileges.ownIds) return Holder.hold(privileges.ownIds, mountWords([...overlays, ...toolMounts(place)]), home)
  const list = join(dir, 'overlays')
  writeFileSync(list, renderFstab(overlays))
  return Holder.start(privileges, list, home)
}

/** Where the root of a sandbox is mounted: in its own mount namespace, so all can use the same path. */
export function mergedIn(home: string): string {
  return join(home, 'merged')
}

interface OverlayPlaces extends MachineFiles {
  /** Every path is mounted relative to this one: the options must fit into one page. */
  readonly home: string
  readonly work: string
  readonly merged: string
}

/**
 * The mounts an overlay needs: if users inside have their own ids, a directory that is not ours must first be mapped to
 * them.
 */
function overlayMounts({ name, lower, hides = [], target }: Overlay, places: OverlayPlaces, how: Privileges): Mount[] {
  const at = (...parts: string[]) => relative(places.home, join(...parts))
  const mountPoint = join(places.merged, target)
  const isOurs = !at(lower).startsWith('..')
  const isMapped = how.ownIds !== null && !isOurs
  const lowers = [
    ...places.layers.map((layer) => at(layer, name)).reverse(),
    ...hides.map((dir) => at(dir)),
    isMapped ? mountPoint : isOurs ? at(lower) : lower,
  ]
  const options = `lowerdir=${lowers.join(':')},upperdir=${at(places.upper, name)},workdir=${at(places.work, name)}${how.overlayOptions}`
  return [
    ...(isMapped ? [{ kind: 'idmap', source: lower, target: mountPoint, readOnly: false } as const] : []),
    { kind: 'overlay', target: mountPoint, options },
  ]
}

/** The same for tool directories, which only programs of the host may change. */
function toolMounts({ dir, toolDirs = [] }: Place): Mount[] {
  return toolDirs.map(({ source }, index) => {
    const target = toolPlace(dir, index)
    makeDir(target, 0o755)
    return { kind: 'idmap', source, target, readOnly: true }
  })
}

/** Where a tool directory appears under the sandboxes' own ids. */
export function toolPlace(dir: string, index: number): string {
  return join(dir, 'tools', String(index))
}

/** Overlays in the format of /etc/fstab. */
function renderFstab(mounts: readonly Mount[]): string {
  return mounts
    .map((mount) =>
      mount.kind === 'overlay' ? `overlay ${field(mount.target)} overlay ${field(mount.options)} 0 0\n` : '',
    )
    .join('')
}

function field(text: string): string {
  return text.replaceAll(/[\\\s]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`)
}

/** A directory for /dev/shm that no program inside has seen: programs may change the owner and mode of theirs. */
export function newSharedMemory(dir: string): string {
  const made = mkdtempSync(join(dir, 'shm-'))
  chmodSync(made, 0o1777)
  return made
}

/** Makes a directory whose mode ignores our umask: the mode decides what users inside may enter. */
export function makeDir(path: string, mode: number): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
}

/** Like a container engine: whatever an image says, names are resolved where this machine's network resolves them. */
export function writeResolver({ overlays }: Base, upper: string): void {
  const [root] = overlays
  if (!root || !lstatSync(join(root.lower, 'etc'), { throwIfNoEntry: false })?.isDirectory()) return
  makeDir(join(upper, root.name, 'etc'), 0o755)
  writeFileSync(join(upper, root.name, 'etc/resolv.conf'), resolverFile().text, { mode: 0o644 })
}
