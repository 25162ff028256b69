import { constants } from 'node:fs'
import { join } from 'node:path'
import { blockingDisk, type Disk, patientDisk } from './disk.ts'
import { gzip, gzipBytes, startingWith } from './gzip.ts'
import { ArchiveError, blockBytes, paddingOf, renderHeader } from './tar-format.ts'
import { type TreeEntry, walkTree } from './tree.ts'

export { type Extracted, type ExtractOptions, extractInto, extractTar } from './extract.ts'
export { ArchiveError } from './tar-format.ts'

export interface PackOptions {
  /** Put before every name, for example `trial-7/`. */
  readonly prefix?: string
  /** False leaves an entry out, a directory with everything in it. */
  readonly filter?: (entry: TreeEntry) => boolean
  /** Symlinks throw, or are written as they are without a look at where they lead. Default `refuse`. */
  readonly links?: 'refuse' | 'keep'
  /** Sockets, pipes and devices throw, or are left out. Default `refuse`. */
  readonly special?: 'refuse' | 'skip'
  /** `reduced`: 0755 for directories and executables, 0644 for the rest. `kept`: as they are, less the set-id bits. Default `reduced`. */
  readonly modes?: 'reduced' | 'kept'
  /** True for a program that does nothing else meanwhile: blocking calls are several times cheaper for small files. */
  readonly blocking?: boolean
}

/**
 * A directory's contents as a gzipped tar. The tar depends on names, contents and modes alone, never on times, owners or the machine;
 * the gzip header says nothing about where or when either, so one zlib gives one sequence of bytes.
 */
export async function* packDir(dir: string, options: PackOptions = {}): AsyncGenerator<Uint8Array, void, void> {
  const tar = tarDir(dir, options)
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

/** Small enough to hold many, large enough that each trip through zlib pays. */
const chunkBytes = 256 << 10

async function* tarParts(dir: string, options: PackOptions): AsyncGenerator<Uint8Array, void, void> {
  const disk = options.blocking ? blockingDisk : patientDisk
  let leftOut: string | undefined
  for await (const entry of walkTree(dir, options)) {
    if (leftOut !== undefined && entry.path.startsWith(leftOut)) continue
    if (options.filter?.(entry) === false) {
      leftOut = `${entry.path}/`
      continue
    }
    const kind = packedKind(entry, options)
    if (kind === null) continue
    const name = `${options.prefix ?? ''}${entry.path}${kind === 'dir' ? '/' : ''}`
    yield renderHeader({ name, kind, mode: packedMode(entry, options), size: entry.size, link: entry.target })
    if (kind === 'file' && entry.size > 0) {
      yield* readExactly(dir, entry, disk)
      yield new Uint8Array(paddingOf(entry.size))
    }
  }
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

/** Exactly the bytes the header promised: what a file grew meanwhile is left, a file that shrank throws. */
async function* readExactly(dir: string, entry: TreeEntry, disk: Disk): AsyncGenerator<Uint8Array, void, void> {
  // NOFOLLOW: swapping the file for a link after the walk gives an error, not a copy of another file.
  const file = await disk.open(join(dir, entry.path), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    for (let left = entry.size; left > 0; ) {
      const buffer = Buffer.allocUnsafe(Math.min(left, chunkBytes))
      const bytes = await disk.read(file, buffer)
      if (bytes === 0) throw new ArchiveError(`${JSON.stringify(entry.path)} became shorter while it was packed`)
      left -= bytes
      yield buffer.subarray(0, bytes)
    }
  } finally {
    await disk.close(file)
  }
}
