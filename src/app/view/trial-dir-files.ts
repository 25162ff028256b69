import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink, realpath } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { ViewFile, ViewTextWindow } from '../../core/view.ts'
import { codeOf, isMissing } from '../../lib/files.ts'
import { NotHere } from './library-job.ts'

const mostFiles = 5000
const deepest = 12

/** The regular files below a directory, without following links. */
export async function listFiles(dir: string): Promise<{ files: ViewFile[]; cut: boolean }> {
  const files: ViewFile[] = []
  const folders: [path: string, depth: number][] = [['', 0]]
  for (const [path, depth] of folders) {
    for (const entry of await entriesOf(join(dir, path))) {
      const inner = posix.join(path, entry.name)
      // There may also be any number of empty folders.
      if (files.length >= mostFiles || folders.length > mostFiles) return { files, cut: true }
      if (entry.isDirectory() && depth < deepest) folders.push([inner, depth + 1])
      if (entry.isFile())
        files.push({ path: inner, bytes: (await lstat(join(dir, inner)).catch(() => null))?.size ?? 0 })
    }
  }
  return { files, cut: false }
}

async function entriesOf(dir: string) {
  try {
    return (await readdir(dir, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    if (isMissing(error) || codeOf(error) === 'EACCES') return []
    throw error
  }
}

/** Opens a regular file below a directory; a path that leads outside, including through links, counts as not found. */
export async function openInside(dir: string, path: string): Promise<FileHandle> {
  const missing = () => new NotHere(`there is no file ${JSON.stringify(path.slice(0, 200))}`)
  if (path === '' || path.includes('\0') || posix.isAbsolute(path) || path.split('/').some((part) => part === '..'))
    throw missing()
  const root = await realpath(dir).catch(() => dir)
  const whole = join(root, path)
  let file: FileHandle
  try {
    file = await open(whole, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error) || ['ELOOP', 'ENXIO', 'EACCES', 'ENAMETOOLONG', 'EISDIR'].includes(codeOf(error) ?? ''))
      throw missing()
    throw error
  }
  // A directory on the path may be a link: check that what was opened is where it should be.
  const real = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null)
  if (real === whole && (await file.stat()).isFile()) return file
  await file.close()
  throw missing()
}

/** Reads a range of bytes from a file. */
export async function readPlace(file: FileHandle, at: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - at))
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, at + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

/** The text of a small file below a directory; null if it is missing or larger. */
export async function readSmall(dir: string, path: string, limitBytes: number): Promise<string | null> {
  try {
    const file = await openInside(dir, path)
    try {
      const { size } = await file.stat()
      return size > limitBytes ? null : (await readPlace(file, 0, size)).toString('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof NotHere) return null
    throw error
  }
}

/** How many bytes of a file are sent as text at once. */
export const windowBytes = 256 << 10

/** A window of a file as text. Invalid UTF-8 becomes replacement characters. A negative `from` counts from the end. */
export async function readWindow(dir: string, path: string, from: number, bytes: number): Promise<ViewTextWindow> {
  const file = await openInside(dir, path)
  try {
    const { size } = await file.stat()
    const start = Math.min(size, from < 0 ? Math.max(0, size + from) : from)
    const end = Math.min(size, start + Math.min(bytes, windowBytes))
    const raw = await readPlace(file, start, end)
    // A character cut in two by the end belongs to the next window.
    const cut = end < size ? incompleteTail(raw) : 0
    const text = raw.subarray(0, raw.length - cut).toString('utf8')
    return { path, from: start, to: start + raw.length - cut, size, text }
  } finally {
    await file.close()
  }
}

function incompleteTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
}
