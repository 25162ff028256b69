import type { Dirent, Stats } from 'node:fs'
import * as fs from 'node:fs'
import * as promises from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isMissing } from './exhaustion.ts'

type Soon<T> = T | Promise<T>

/** The few calls for reading and writing trees; files are plain descriptors. */
export interface Disk {
  open(path: string, flags: number, mode?: number): Soon<number>
  /** The number of bytes read; 0 at the end. */
  read(file: number, into: Uint8Array): Soon<number>
  write(file: number, bytes: Uint8Array): Soon<number>
  close(file: number): Soon<void>
  fstat(file: number): Soon<Stats>
  list(dir: string): Soon<Dirent[]>
  chmod(path: string, mode: number): Soon<void>
  mkdir(path: string, mode: number): Soon<unknown>
  link(existing: string, path: string): Soon<void>
  symlink(target: string, path: string): Soon<void>
}

const read = promisify(fs.read)
const write = promisify(fs.write)

/** Calls that let the rest of the process continue. */
export const patientDisk: Disk = {
  open: promisify(fs.open),
  read: async (file, into) => (await read(file, into, 0, into.length, null)).bytesRead,
  write: async (file, bytes) => (await write(file, bytes)).bytesWritten,
  close: promisify(fs.close),
  fstat: promisify<number, Stats>(fs.fstat),
  list: (dir) => promises.readdir(dir, { withFileTypes: true }),
  chmod: promisify(fs.chmod),
  mkdir: promisify(fs.mkdir),
  link: promisify(fs.link),
  symlink: promisify(fs.symlink) as (target: string, path: string) => Promise<void>,
}

/** Calls that block the whole process, for programs that do nothing else: small files cost a fraction of the time. */
export const blockingDisk: Disk = {
  open: fs.openSync,
  read: (file, into) => fs.readSync(file, into),
  write: (file, bytes) => fs.writeSync(file, bytes),
  close: fs.closeSync,
  fstat: (file) => fs.fstatSync(file),
  list: (dir) => fs.readdirSync(dir, { withFileTypes: true }),
  chmod: fs.chmodSync,
  mkdir: (path, mode) => fs.mkdirSync(path, mode),
  link: fs.linkSync,
  symlink: (target, path) => fs.symlinkSync(target, path),
}

/** How much disk space a file or a tree takes; what cannot be examined counts as 0. */
export async function diskBytesOf(path: string): Promise<number> {
  const linked = new Set<string>()
  const waiting = [path]
  let bytes = 0
  let count = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const stats = await lstatOrNull(at).catch(() => null)
    // These calls block on a local disk: other work gets its turn in between.
    if (++count % 100 === 0) await setImmediate()
    if (stats === null || isKnown(stats, linked)) continue
    bytes += stats.blocks * 512
    if (!stats.isDirectory()) continue
    const dir = at
    const names = await promises.readdir(dir).catch((): string[] => [])
    for (const name of names) waiting.push(join(dir, name))
  }
  return bytes
}

/** A file with several names takes its space only once. */
function isKnown(stats: Stats, linked: Set<string>): boolean {
  if (stats.isDirectory() || stats.nlink < 2) return false
  const name = `${stats.dev}-${stats.ino}`
  if (linked.has(name)) return true
  linked.add(name)
  return false
}

/** ext, XFS, Btrfs, tmpfs, overlays, ZFS, bcachefs and F2FS. */
const local = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xca451a4e, 0xf2f52010]
/** Lustre and GPFS: shared by many machines, but stat returns the current state. */
const coherent = [...local, 0x0bd00bd0, 0x47504653]

/**
 * Whether a directory is on a local disk, where a blocking call for a small file is over before another thread could be
 * asked.
 */
export function isLocal(dir: string): boolean {
  return local.includes(fs.statfsSync(dir).type)
}

/** Whether the system reports the current state of files in a directory, not a cached one as over NFS. */
export function isCoherent(dir: string): boolean {
  return coherent.includes(fs.statfsSync(dir).type)
}

/** Directories examined so far, so that each is examined only once. */
const known = new Map<string, boolean>()

/** The same for a path that may not exist yet: the nearest existing directory above it counts. */
export function isNear(path: string): boolean {
  const dir = dirname(path)
  const before = known.get(dir)
  if (before !== undefined) return before
  let found: boolean
  try {
    found = isLocal(dir)
  } catch {
    return dir !== path && isNear(dir)
  }
  if (known.size >= 1000) known.clear()
  known.set(dir, found)
  return found
}

// The calls of node:fs/promises under the same names, for single files of a trial. A promise of the system costs ten
// times as much processor time as the call itself. On a local disk they block, elsewhere they do not.

/** Larger files are left to another thread. */
export const smallBytes = 256 * 1024

export async function stat(path: string): Promise<Stats> {
  return isNear(path) ? fs.statSync(path) : promises.stat(path)
}

export async function statfs(dir: string): Promise<fs.StatsFs> {
  return isNear(`${dir}/.`) ? fs.statfsSync(dir) : promises.statfs(dir)
}

/** Null if nothing is there: that is the usual question, and an error with its stack would cost ten times as much. */
export function statOrNull(path: string): Promise<Stats | null> {
  return nullIfMissing(() => (isNear(path) ? fs.statSync(path, { throwIfNoEntry: false }) : promises.stat(path)))
}

/** The same for a link itself. */
export function lstatOrNull(path: string): Promise<Stats | null> {
  return nullIfMissing(() => (isNear(path) ? fs.lstatSync(path, { throwIfNoEntry: false }) : promises.lstat(path)))
}

async function nullIfMissing(look: () => Soon<Stats | undefined>): Promise<Stats | null> {
  try {
    return (await look()) ?? null
  } catch (error) {
    // Node.js ignores only ENOENT, not a file in place of a directory.
    if (isMissing(error)) return null
    throw error
  }
}

export async function mkdir(path: string, options: fs.MakeDirectoryOptions = {}): Promise<void> {
  if (isNear(path)) fs.mkdirSync(path, options)
  else await promises.mkdir(path, options)
}

export async function chmod(path: string, mode: number): Promise<void> {
  if (isNear(path)) fs.chmodSync(path, mode)
  else await promises.chmod(path, mode)
}

export async function rename(from: string, to: string): Promise<void> {
  if (isNear(from)) fs.renameSync(from, to)
  else await promises.rename(from, to)
}

export async function list(dir: string): Promise<Dirent[]> {
  return isNear(`${dir}/.`)
    ? fs.readdirSync(dir, { withFileTypes: true })
    : promises.readdir(dir, { withFileTypes: true })
}

/** Removes a file or a tree, if it exists. Another thread does the work, because a disk may take long for it. */
export async function remove(path: string): Promise<void> {
  if (isNear(path) && fs.lstatSync(path, { throwIfNoEntry: false }) === undefined) return
  await promises.rm(path, { recursive: true, force: true })
}

export async function copyFile(from: string, to: string): Promise<void> {
  if (isNear(from) && isNear(to) && fs.lstatSync(from).size <= smallBytes) fs.copyFileSync(from, to)
  else await promises.copyFile(from, to)
}

/** Appends text to a file, which is created if missing; with `w` it replaces the content. */
export async function writeText(path: string, text: string, flag: 'a' | 'w'): Promise<void> {
  if (isNear(path) && text.length <= smallBytes) fs.writeFileSync(path, text, { flag })
  else await promises.writeFile(path, text, { flag })
}
