import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { copyOut } from '../../lib/copy-out.ts'
import type { ExtractOptions } from '../../lib/extract.ts'
import type { ContainerState } from './container-state.ts'

/** Where an engine keeps the files of a container that runs, on its machine. */
export type KeptFiles = Pick<ContainerState, 'merged' | 'mounts' | 'volumes'>

/** Files and directories that engines put into every container. */
export const engineFiles: readonly string[] =
  '/dev /proc /sys /etc/hosts /etc/hostname /etc/resolv.conf /run/.containerenv /run/secrets /.dockerenv'.split(' ')

/**
 * Copies a directory of a container from where its engine keeps it on this machine: an engine starts a process for every
 * archive. Programs inside may be writing, and may have put links anywhere: none is followed. False where this is not for us
 * to do, so that the engine has to: the files are not here, the path has links, something is mounted below it, or we are not
 * root, who alone may read every owner's files.
 */
export async function copyFromHost(
  kept: KeptFiles,
  source: string,
  target: string,
  options: ExtractOptions,
): Promise<boolean> {
  const place = process.getuid?.() === 0 ? placeOf(kept, source) : null
  const dir = place && (await openBelow(place.root, place.names))
  if (!dir) return false
  try {
    await copyOut(`/proc/self/fd/${dir.fd}/.`, target, options)
    return true
  } finally {
    await dir.close()
  }
}

interface HostPlace {
  readonly root: string
  /** From there, one directory after the other. */
  readonly names: readonly string[]
}

/** The directory of this machine behind a path inside; null where it is not one directory. */
export function placeOf({ merged, mounts, volumes }: KeptFiles, path: string): HostPlace | null {
  const whole = path.replace(/\/+$/, '')
  if (!whole.startsWith('/') || whole.split('/').some((name) => name === '.' || name === '..')) return null
  const covers = (dir: string) => whole === dir || whole.startsWith(`${dir}/`)
  const others = [...engineFiles, ...mounts.filter((mount) => !volumes.has(mount))]
  if (others.some(covers) || [...others, ...mounts].some((mount) => mount.startsWith(`${whole}/`))) return null
  const above = mounts.filter(covers).sort((a, b) => b.length - a.length)[0]
  const root = above === undefined ? merged : volumes.get(above)
  if (!root) return null
  return {
    root,
    names: whole
      .slice(above?.length ?? 0)
      .split('/')
      .filter(Boolean),
  }
}

/** Each step goes through an open directory, so that nothing swapped for a link meanwhile leads elsewhere. */
async function openBelow(root: string, names: readonly string[]): Promise<FileHandle | null> {
  let dir = await openDir(root)
  for (const name of names) {
    const above: FileHandle | null = dir
    if (above === null) return null
    dir = await openDir(join(`/proc/self/fd/${above.fd}`, name))
    await above.close()
  }
  return dir
}

function openDir(path: string): Promise<FileHandle | null> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(() => null)
}
