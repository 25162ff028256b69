import { closeSync, fsync, mkdirSync, openSync, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { promisify } from 'node:util'
import { isNear, smallBytes, statOrNull } from './disk.ts'
import { draftBeside, removeDraft, renameDraft } from './drafts.ts'
import { isMissing } from './exhaustion.ts'

export { codeOf, isMissing } from './exhaustion.ts'

/** Writes a file so that a reader sees the old content or the new, never a part; makes the directory if missing. */
export async function writeAtomic(
  path: string,
  data: string | Uint8Array | Iterable<string>,
  mode = 0o644,
): Promise<void> {
  const temporary = draftBeside(path)
  try {
    if (typeof data === 'string' && data.length <= smallBytes && isNear(path)) await writeSmall(temporary, data, mode)
    else await writeLarge(temporary, data, mode)
    await renameDraft(temporary, path)
  } catch (error) {
    await removeDraft(temporary)
    throw error
  }
}

async function writeLarge(path: string, data: string | Uint8Array | Iterable<string>, mode: number): Promise<void> {
  const file = await openNew(path, mode)
  try {
    await writeFile(file, data)
    await file.sync()
  } finally {
    await file.close()
  }
}

const sync = promisify(fsync)

/** Waits only for the disk asynchronously; everything else is done by blocking calls. */
async function writeSmall(path: string, text: string, mode: number): Promise<void> {
  const file = openNewNow(path, mode)
  try {
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
    await sync(file)
  } finally {
    closeSync(file)
  }
}

function openNewNow(path: string, mode: number): number {
  try {
    return openSync(path, 'wx', mode)
  } catch (error) {
    if (!isMissing(error)) throw error
    mkdirSync(dirname(path), { recursive: true })
    return openSync(path, 'wx', mode)
  }
}

/** Usually its directory already exists. */
async function openNew(path: string, mode: number): Promise<FileHandle> {
  try {
    return await open(path, 'wx', mode)
  } catch (error) {
    if (!isMissing(error)) throw error
    await mkdir(dirname(path), { recursive: true })
    return open(path, 'wx', mode)
  }
}

/** The text of a file, or null if it does not exist. */
export async function readTextIfExists(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await statOrNull(path)) !== null
}

/** The names in a directory; empty if it does not exist. */
export async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** What is at a path, links followed: `other` is a device, a pipe or a socket. */
export async function kindAt(path: string): Promise<'none' | 'file' | 'dir' | 'other'> {
  const there = await statOrNull(path)
  if (there === null) return 'none'
  return there.isFile() ? 'file' : there.isDirectory() ? 'dir' : 'other'
}

/** A path for a person to copy: relative to the working directory if it is below it, else absolute. */
export function nearPath(path: string): string {
  const near = relative('', path)
  return near === '' || near.startsWith('..') ? path : near
}
