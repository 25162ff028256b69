import type { Dirent, Stats } from 'node:fs'
import * as fs from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

type Soon<T> = T | Promise<T>

/** The few calls that trees are read and written with; files are plain descriptors. */
export interface Disk {
  open(path: string, flags: number, mode?: number): Soon<number>
  /** How many bytes came; 0 at the end. */
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

/** Calls that let the rest of the process go on. */
export const patientDisk: Disk = {
  open: promisify(fs.open),
  read: async (file, into) => (await read(file, into, 0, into.length, null)).bytesRead,
  write: async (file, bytes) => (await write(file, bytes)).bytesWritten,
  close: promisify(fs.close),
  fstat: promisify<number, Stats>(fs.fstat),
  list: (dir) => readdir(dir, { withFileTypes: true }),
  chmod: promisify(fs.chmod),
  mkdir: promisify(fs.mkdir),
  link: promisify(fs.link),
  symlink: promisify(fs.symlink) as (target: string, path: string) => Promise<void>,
}

/** Calls that stop the whole process meanwhile, for programs that do nothing else: small files cost a fraction of the time. */
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

/** How much disk a file or a tree takes; what cannot be looked into counts nothing. */
export async function diskBytesOf(path: string): Promise<number> {
  const linked = new Set<string>()
  const waiting = [path]
  let bytes = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const stats = await lstat(at).catch(() => null)
    if (stats === null || isKnown(stats, linked)) continue
    bytes += stats.blocks * 512
    if (!stats.isDirectory()) continue
    const dir = at
    const names = await readdir(dir).catch((): string[] => [])
    for (const name of names) waiting.push(join(dir, name))
  }
  return bytes
}

/** A file with several names takes its room once. */
function isKnown(stats: Stats, linked: Set<string>): boolean {
  if (stats.isDirectory() || stats.nlink < 2) return false
  const name = `${stats.dev}-${stats.ino}`
  if (linked.has(name)) return true
  linked.add(name)
  return false
}
