import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Files of /proc that reveal the whole machine or its keys; containers hide them, too. */
const hidden = new Set([
  'acpi',
  'asound',
  'interrupts',
  'kcore',
  'key-users',
  'keys',
  'kmsg',
  'latency_stats',
  'sched_debug',
  'scsi',
  'timer_list',
  'timer_stats',
])

/** Directories in which the kernel offers nothing to write to. */
const harmless = new Set(['sysvipc', 'tty'])

/** An entry of /proc that belongs to the machine, not to a process. */
export interface KernelFile {
  readonly path: string
  readonly isDirectory: boolean
  /** Not readable either; otherwise only not writable. */
  readonly isHidden: boolean
}

interface Known {
  readonly all: readonly KernelFile[]
  /** Entries whose modes do not already keep everyone but root out. */
  readonly open: readonly KernelFile[]
  readonly sinceMs: number
}

let known: Known | undefined

/**
 * What a sandbox must cover in its /proc: all of it if root inside is the same user as root outside, who owns these
 * files.
 */
export function kernelFiles({ ownedByRootInside }: { readonly ownedByRootInside: boolean }): readonly KernelFile[] {
  // They change when a module is loaded, and are checked for every sandbox.
  if (known === undefined || Date.now() - known.sinceMs > 5000) {
    const all = findKernelFiles()
    known = { all, open: all.filter(isOpenToOthers), sinceMs: Date.now() }
  }
  return ownedByRootInside ? known.all : known.open
}

/** Directories whose files are writable by others, or by the owner of a namespace. */
const openDirs = new Set(['/proc/fs', '/proc/pressure', '/proc/sys'])

function isOpenToOthers({ path, isDirectory, isHidden }: KernelFile): boolean {
  if (isDirectory && !isHidden) return openDirs.has(path)
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & (isHidden ? 0o004 : 0o002)) !== 0
}

function findKernelFiles(): KernelFile[] {
  return readdirSync('/proc').flatMap((name) => {
    const path = join('/proc', name)
    const stat = /^\d+$/.test(name) ? undefined : lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink() || harmless.has(name)) return []
    const isHidden = hidden.has(name)
    const isDirectory = stat.isDirectory()
    return isHidden || isDirectory || (stat.mode & 0o222) !== 0 ? [{ path, isDirectory, isHidden }] : []
  })
}
