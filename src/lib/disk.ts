import * as fs from 'node:fs'
import { promisify } from 'node:util'

type Soon<T> = T | Promise<T>

/** The few calls that trees are read and written with; files are plain descriptors. */
export interface Disk {
  open(path: string, flags: number, mode?: number): Soon<number>
  /** How many bytes came; 0 at the end. */
  read(file: number, into: Uint8Array): Soon<number>
  write(file: number, bytes: Uint8Array): Soon<number>
  close(file: number): Soon<void>
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
  chmod: fs.chmodSync,
  mkdir: (path, mode) => fs.mkdirSync(path, mode),
  link: fs.linkSync,
  symlink: (target, path) => fs.symlinkSync(target, path),
}
