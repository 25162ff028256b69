import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { patientDisk } from './disk.ts'
import { gzip, gzipBytes, gzipFew, startingWith } from './gzip.ts'
import { ArchiveError, blockBytes, paddingOf, renderHeader } from './tar-format.ts'
import { type TreeEntry, walkTree, walkTreeNow } from './tree.ts'

export { type Extracted, type ExtractOptions, extractInto, extractTar } from './extract.ts'
export { ArchiveError } from './tar-format.ts'

export interface PackOptions {
  /** Put before every name, for example `trial-7/`. */
  readonly prefix?: string
  /** False leaves an entry out; a directory with everything in it. */
  readonly filter?: (entry: TreeEntry) => boolean
  /** Symlinks throw, or are written as they are, wherever they lead. Default `refuse`. */
  readonly links?: 'refuse' | 'keep'
  /** Sockets, pipes and devices throw, or are left out. Default `refuse`. */
  readonly special?: 'refuse' | 'skip'
  /**
   * `reduced`: 0755 for directories and executables, 0644 for the rest. `kept`: as they are, minus the set-id bits.
   * Default `reduced`.
   */
  readonly modes?: 'reduced' | 'kept'
  /**
   * True for a program that does nothing else at the time: blocking calls are several times cheaper for small files.
   */
  readonly blocking?: boolean
}

/**
 * A directory's contents as a gzipped tar. The tar depends only on names, contents and modes, never on times, owners or
 * the machine; the gzip header contains no time or system either, so the same zlib always gives the same bytes.
 */
export async function* packDir(dir: string, options: PackOptions = {}): AsyncGenerator<Uint8Array, void, void> {
  const few = options.blocking ? tarFew(dir, options) : null
  // Another thread compresses while this one reads the next tree; but not many large ones at once.
  if (few) return yield few.length < littleBytes ? await gzipBytes(few) : gzipFew(few)
  const tar = tarDir(dir, { ...options, blocking: false })
  const [first, second] = [await tar.next(), await tar.next()]
  if (first.done) return
  if (second.done) yield await gzipBytes(first.value)
  else yield* gzip(startingWith(Buffer.concat([first.value, second.value]), tar))
}

/** The same bytes, collected in memory. */
export async function packDirToBytes(dir: string, options: PackOptions = {}): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of packDir(dir, options)) chunks.push(chunk)
  const [only = new Uint8Array()] = chunks
  return chunks.length === 1 ? only : Buffer.concat(chunks)
}

/** A directory's contents as a plain tar, in chunks of about `chunkBytes`. */
export async function* tarDir(dir: string, options: PackOptions = {}): AsyncGenerator<Uint8Array, void, void> {
  const few = options.blocking ? tarFew(dir, options) : null
  if (few) return yield few
  let parts: Uint8Array[] = []
  let waiting = 0
  for await (const part of tarParts(dir, options)) {
    parts.push(part)
    waiting += part.length
    if (waiting < chunkBytes) continue
    yield Buffer.concat(parts)
    parts = []
    waiting = 0
  }
  yield Buffer.concat([...parts, new Uint8Array(2 * blockBytes)])
}

/** Small enough to hold many, large enough to make each call of zlib worthwhile. */
const chunkBytes = 256 << 10

async function* tarParts(dir: string, options: PackOptions): AsyncGenerator<Uint8Array, void, void> {
  const isWanted = filterOf(options)
  for await (const entry of walkTree(dir)) {
    const header = isWanted(entry) ? headerOf(entry, options) : null
    if (header) yield header
    if (!header || entry.kind !== 'file' || entry.size === 0) continue
    yield* readExactly(dir, entry)
    yield new Uint8Array(paddingOf(entry.size))
  }
}

/** A small tree as a plain tar, by blocking calls; null when it is larger. */
export function tarFew(dir: string, options: PackOptions): Uint8Array | null {
  const isWanted = filterOf(options)
  const parts: Uint8Array[] = []
  let bytes = 0
  for (const entry of walkTreeNow(dir)) {
    const header = isWanted(entry) ? headerOf(entry, options) : null
    if (header) parts.push(header)
    if (!header || entry.kind !== 'file' || entry.size === 0) continue
    bytes += entry.size
    if (bytes > fewBytes || parts.length > fewParts) return null
    parts.push(readNow(dir, entry), new Uint8Array(paddingOf(entry.size)))
  }
  return Buffer.concat([...parts, new Uint8Array(2 * blockBytes)])
}

const fewBytes = 4 << 20
const littleBytes = 256 << 10
const fewParts = 10_000

/** A directory that is left out is left out with everything in it. */
function filterOf({ filter }: PackOptions): (entry: TreeEntry) => boolean {
  let leftOut: string | undefined
  return (entry) => {
    if (leftOut !== undefined && entry.path.startsWith(leftOut)) return false
    if (filter?.(entry) !== false) return true
    leftOut = `${entry.path}/`
    return false
  }
}

/** Null for entries that are left out. */
function headerOf(entry: TreeEntry, options: PackOptions): Uint8Array | null {
  const kind = packedKind(entry, options)
  if (kind === null) return null
  const name = `${options.prefix ?? ''}${entry.path}${kind === 'dir' ? '/' : ''}`
  return renderHeader({ name, kind, mode: packedMode(entry, options), size: entry.size, link: entry.target })
}

function packedKind(entry: TreeEntry, options: PackOptions): 'file' | 'dir' | 'symlink' | null {
  if (entry.kind === 'other') {
    if (options.special === 'skip') return null
    throw new ArchiveError(`${JSON.stringify(entry.path)} is neither a file nor a directory`)
  }
  if (entry.kind === 'symlink' && options.links !== 'keep') {
    throw new ArchiveError(
      `${JSON.stringify(entry.path)} is a link to ${JSON.stringify(entry.target)}; links are not packed`,
    )
  }
  return entry.kind
}

function packedMode(entry: TreeEntry, options: PackOptions): number {
  if (entry.kind === 'symlink') return 0o777
  if (options.modes === 'kept') return entry.kind === 'dir' ? (entry.mode & 0o777) | 0o700 : entry.mode & 0o777
  return entry.kind === 'dir' || (entry.mode & 0o111) !== 0 ? 0o755 : 0o644
}

/** Exactly the bytes the header promised: what was appended in the meantime is ignored, a file that shrank throws. */
async function* readExactly(dir: string, entry: TreeEntry): AsyncGenerator<Uint8Array, void, void> {
  const file = await patientDisk.open(join(dir, entry.path), plainly)
  try {
    for (let left = entry.size; left > 0; ) {
      const buffer = Buffer.allocUnsafe(Math.min(left, chunkBytes))
      const bytes = await patientDisk.read(file, buffer)
      if (bytes === 0) throw becameShorter(entry)
      left -= bytes
      yield buffer.subarray(0, bytes)
    }
  } finally {
    await patientDisk.close(file)
  }
}

function readNow(dir: string, entry: TreeEntry): Uint8Array {
  const file = openSync(`${dir}/${entry.path}`, plainly)
  try {
    const buffer = Buffer.allocUnsafe(entry.size)
    for (let at = 0; at < entry.size; ) {
      const bytes = readSync(file, buffer, at, entry.size - at, null)
      if (bytes === 0) throw becameShorter(entry)
      at += bytes
    }
    return buffer
  } finally {
    closeSync(file)
  }
}

/** NOFOLLOW: swapping the file for a link after the walk gives an error, not a copy of another file. */
const plainly = constants.O_RDONLY | constants.O_NOFOLLOW

function becameShorter({ path }: TreeEntry): ArchiveError {
  return new ArchiveError(`${JSON.stringify(path)} became shorter while it was packed`)
}
