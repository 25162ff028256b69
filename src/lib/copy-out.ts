import { closeSync, constants, type Dirent, fstatSync, opendirSync, openSync, readlinkSync, readSync } from 'node:fs'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { isNear } from './disk.ts'
import { type ExtractOptions, extractEntries } from './extract.ts'
import { codeOf } from './files.ts'
import type { TarEntry } from './tar-read.ts'

/** Every level costs an open directory; deeper levels are left out. */
const depthLimit = 256

/**
 * Blocking calls cost a fraction of others, and the source is on a local disk; after this many, everything else gets
 * its turn.
 */
const entriesAtOnce = 64
const chunksAtOnce = 16

/**
 * Copies a directory that hostile programs may be writing at this moment. Every step goes through an open directory and
 * refuses links, so nothing outside the source can be reached, whatever is swapped in the meantime; the copy is checked
 * like an untrusted archive, so that no link in it leads out either.
 */
export async function copyOut(source: string, target: string, options: ExtractOptions): Promise<void> {
  await extractEntries(entriesOf(source, '', 0), target, { blocking: isNear(target), ...options })
}

async function* entriesOf(place: string, path: string, depth: number): AsyncGenerator<TarEntry, void, void> {
  const dir = openNow(place, constants.O_DIRECTORY)
  try {
    const here = `/proc/self/fd/${dir}`
    for (const { entry, count } of listed(here)) {
      if (count % entriesAtOnce === 0) await setImmediate()
      const [name, from] = [`${path}${entry.name}`, `${here}/${entry.name}`]
      if (entry.isDirectory() && depth < depthLimit) {
        yield { ...plain, name, kind: 'dir', mode: 0o755 }
        yield* unlessSwapped(entriesOf(from, `${name}/`, depth + 1))
      } else if (entry.isFile()) yield* unlessSwapped(fileEntry(from, name))
      else if (entry.isSymbolicLink()) yield* unlessSwapped(linkEntry(from, name))
      else yield { ...plain, name }
    }
  } finally {
    closeSync(dir)
  }
}

function* listed(path: string): Generator<{ entry: Dirent; count: number }, void, void> {
  const dir = opendirSync(path)
  try {
    let count = 1
    for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) yield { entry, count: count++ }
  } finally {
    dir.closeSync()
  }
}

async function* fileEntry(from: string, name: string): AsyncGenerator<TarEntry, void, void> {
  // Without O_NONBLOCK a fifo that was just put there would block us forever.
  const file = openNow(from, constants.O_NONBLOCK)
  try {
    const stat = fstatSync(file)
    if (!stat.isFile()) yield { ...plain, name }
    else yield { ...plain, name, kind: 'file', mode: stat.mode, size: stat.size, body: bytesOf(file, stat.size) }
  } finally {
    closeSync(file)
  }
}

async function* linkEntry(from: string, name: string): AsyncGenerator<TarEntry, void, void> {
  yield { ...plain, name, kind: 'symlink', link: readlinkSync(from) }
}

/** Yields as much as the file held when it was opened: a file that grows forever must not be copied forever. */
async function* bytesOf(file: number, size: number): AsyncGenerator<Uint8Array, void, void> {
  for (let left = size, count = 1; left > 0; count++) {
    if (count % chunksAtOnce === 0) await setImmediate()
    const buffer = Buffer.allocUnsafe(Math.min(left, 64 * 1024))
    const bytesRead = readSync(file, buffer)
    if (bytesRead === 0) return
    left -= bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

const plain = {
  kind: 'other',
  mode: 0,
  size: 0,
  link: '',
  garbledName: false,
  garbledLink: false,
  body: Readable.from([]),
} as const

/** Errors of an entry that was swapped, is gone, or is not ours to read: it is left out. */
const skippable = new Set(['ELOOP', 'ENOTDIR', 'ENOENT', 'EACCES', 'ENXIO', 'EINVAL', 'EAGAIN'])

async function* unlessSwapped(entries: AsyncGenerator<TarEntry, void, void>): AsyncGenerator<TarEntry, void, void> {
  // Only a failure before the first entry is due to this file; later errors are about the copy.
  let first: IteratorResult<TarEntry, void>
  try {
    first = await entries.next()
  } catch (error) {
    if (skippable.has(codeOf(error) ?? '')) return
    throw error
  }
  try {
    if (!first.done) yield first.value
    yield* entries
  } finally {
    await entries.return()
  }
}

function openNow(path: string, flags: number): number {
  return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | flags)
}
