import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { copyFile as copyFileSoon, link, lstat, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { chmod, copyFile, list, mkdir, stat } from './disk.ts'

/** One thing found in a directory tree. */
export interface TreeEntry {
  /** Relative to the walked directory, with `/` between the parts. */
  readonly path: string
  /** `other`: a socket, a pipe or a device. */
  readonly kind: 'file' | 'dir' | 'symlink' | 'other'
  /** Permission bits, for example 0o755. */
  readonly mode: number
  /** Bytes of a file; 0 for everything else. */
  readonly size: number
  /** A symlink's target, unchecked; empty for everything else. */
  readonly target: string
}

/**
 * Everything below `dir`, a directory before its contents and siblings in byte order, so that two equal trees give
 * equal walks. Links are reported and never followed. A name that is not UTF-8 throws, because it could not be opened
 * again by its string.
 */
export async function* walkTree(dir: string): AsyncGenerator<TreeEntry, void, void> {
  const waiting = sorted(await readdir(dir, { encoding: 'buffer' }), dir).reverse()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const absolute = join(dir, path)
    const stats = await lstat(absolute)
    const entry = describe(path, stats, stats.isSymbolicLink() ? await readlink(absolute) : '')
    yield entry
    if (entry.kind !== 'dir') continue
    const names = sorted(await readdir(absolute, { encoding: 'buffer' }), absolute)
    for (const name of names.reverse()) waiting.push(`${path}/${name}`)
  }
}

/** The same by blocking calls, for programs that do nothing else. */
export function* walkTreeNow(dir: string): Generator<TreeEntry, void, void> {
  const waiting = sorted(readdirSync(dir, { encoding: 'buffer' }), dir).reverse()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const absolute = `${dir}/${path}`
    const stats = lstatSync(absolute)
    const entry = describe(path, stats, stats.isSymbolicLink() ? readlinkSync(absolute) : '')
    yield entry
    if (entry.kind !== 'dir') continue
    const names = sorted(readdirSync(absolute, { encoding: 'buffer' }), absolute)
    for (const name of names.reverse()) waiting.push(`${path}/${name}`)
  }
}

/** Orders strings by their UTF-8 bytes, which is also the order of code points. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function describe(path: string, stats: Stats, target: string): TreeEntry {
  const mode = stats.mode & 0o7777
  if (stats.isFile()) return { path, kind: 'file', mode, size: stats.size, target }
  if (stats.isDirectory()) return { path, kind: 'dir', mode, size: 0, target }
  return { path, kind: stats.isSymbolicLink() ? 'symlink' : 'other', mode, size: 0, target }
}

function sorted(names: Buffer[], dir: string): string[] {
  return names.sort(Buffer.compare).map((name) => decodeName(name, dir))
}

function decodeName(name: Buffer, dir: string): string {
  const text = name.toString('utf8')
  if (!Buffer.from(text).equals(name))
    throw new Error(`${dir} holds a file name that is not UTF-8: ${name.toString('latin1')}`)
  return text
}

/**
 * Copies the contents of a directory that nothing else is changing over another one; modes are kept and links stay
 * links.
 */
export async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  for (const entry of await list(source)) {
    const from = join(source, entry.name)
    const to = join(target, entry.name)
    if (entry.isDirectory()) {
      await copyTree(from, to)
      await chmod(to, (await stat(from)).mode & 0o7777)
    } else if (entry.isSymbolicLink()) {
      await rm(to, { force: true })
      await symlink(await readlink(from), to)
    } else if (entry.isFile()) await copyFile(from, to)
  }
}

/**
 * The same with hard links instead of copies, for files that are never changed in place; copies where hard links are
 * impossible.
 */
export async function linkTree(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true })
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)]
    if (entry.isDirectory()) await linkTree(from, to)
    else if (entry.isFile()) await link(from, to).catch(() => copyFileSoon(from, to))
  }
}
