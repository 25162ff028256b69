import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { copyOut } from '../../lib/copy-out.ts'
import type { ExtractOptions } from '../../lib/extract.ts'
import type { ContainerState } from './container-state.ts'

/** Where an engine keeps the files of a running container, on its machine. */
export type KeptFiles = Pick<ContainerState, 'merged' | 'mounts' | 'volumes'>

/** Files and directories that engines put into every container. */
export const engineFiles: readonly string[] =
  '/dev /proc /sys /etc/hosts /etc/hostname /etc/resolv.conf /run/.containerenv /run/secrets /.dockerenv'.split(' ')

/**
 * Copies a directory of a container from where its engine keeps it on this machine, because an engine starts a process
 * for every archive. Programs inside may be writing, and may have put links anywhere: none is followed. False when the
 * engine has to do it: the files are not on this machine, the path contains links, something is mounted below it, or we
 * are not root, the only user who may read every owner's files.
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
  /** Directory names from there on down. */
  readonly names: readonly string[]
}

/** The directory on this machine behind a path inside; null when it is not a single directory. */
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

/** Each step goes through an open directory, so that replacing one with a link in the meantime leads nowhere else. */
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
