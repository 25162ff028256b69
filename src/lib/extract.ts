import { lstat, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { blockingDisk, chmod, list, lstatOrNull, mkdir, patientDisk } from './disk.ts'
import { draftBeside, removeDraft, renameDraft } from './drafts.ts'
import { codeOf, isMissing } from './exhaustion.ts'
import { gunzipFew, gunzipIfNeeded } from './gzip.ts'
import { ArchiveError } from './tar-format.ts'
import { readTar, type TarEntry } from './tar-read.ts'
import { TreeWriter } from './tree-writer.ts'

export interface ExtractOptions {
  /** Past this many bytes of files the extraction fails, whatever `onRefused` says. Default 4 GiB. */
  readonly limitBytes?: number
  /** The same for entries. Default 500,000. */
  readonly limitEntries?: number
  /** The total length of all names, including those that links lead to. */
  readonly limitNameChars?: number
  /** Links are refused, or kept if they lead to something inside the archive. Default `refuse`. */
  readonly links?: 'refuse' | 'inside'
  /** A refused entry ends the extraction with an ArchiveError, or is left out and reported. Default `throw`. */
  readonly onRefused?: 'throw' | 'drop'
  /** A backslash is an ordinary character on Linux and a separator elsewhere. Default `refuse`. */
  readonly backslashes?: 'refuse' | 'keep'
  /**
   * `reduced`: 0755 for directories and executables, 0644 for the rest. `kept`: as in the archive, minus the set-id
   * bits. Default `reduced`.
   */
  readonly modes?: 'reduced' | 'kept'
  /** A non-empty target is refused, or gets the archive's entries added, overwriting its own. Default `refuse`. */
  readonly existing?: 'refuse' | 'merge'
  readonly signal?: AbortSignal
  /**
   * True for a program that does nothing else at the time: blocking calls are several times cheaper for small files.
   */
  readonly blocking?: boolean
}

export interface Refusal {
  readonly name: string
  readonly reason: string
}

export interface Extracted {
  readonly entries: number
  readonly bytes: number
  /** The first thousand entries that were left out; empty unless `onRefused` is `drop`. */
  readonly refused: readonly Refusal[]
  readonly refusedCount: number
}

type Source = Uint8Array | AsyncIterable<Uint8Array>

/**
 * Unpacks a hostile tar or tar.gz so that `target` appears whole or not at all (a merge: entry by entry, once all are
 * unpacked). Nothing is ever written outside it: no absolute or climbing names, no way through a link, no devices.
 */
export async function extractTar(source: Source, target: string, options: ExtractOptions = {}): Promise<Extracted> {
  return extractEntries(readTar(tarOf(source, options)), target, options)
}

/** The same for entries that do not come from an archive. */
export async function extractEntries(
  entries: AsyncIterable<TarEntry>,
  target: string,
  options: ExtractOptions = {},
): Promise<Extracted> {
  const occupied = await hasContent(target)
  if (occupied && options.existing !== 'merge') throw new Error(`${target} is not an empty directory`)
  const stage = draftBeside(target)
  await makeStage(stage)
  try {
    const extracted = await fill(stage, entries, options)
    await chmod(stage, 0o777 & ~process.umask())
    if (occupied) {
      await moveOver(stage, target)
      await removeDraft(stage)
    } else await takePlace(stage, target)
    return extracted
  } catch (error) {
    await removeDraft(stage)
    throw error
  }
}

async function makeStage(stage: string): Promise<void> {
  try {
    await mkdir(stage, { mode: 0o700 })
  } catch (error) {
    if (!isMissing(error)) throw error
    await mkdir(dirname(stage), { recursive: true })
    await mkdir(stage, { mode: 0o700 })
  }
}

/** If something other than a directory is there, for example a link, it is replaced and never followed. */
async function takePlace(stage: string, target: string): Promise<void> {
  try {
    await renameDraft(stage, target)
  } catch (error) {
    if (codeOf(error) !== 'ENOTDIR') throw error
    await rm(target, { force: true })
    await renameDraft(stage, target)
  }
}

/** The same into an empty directory that nothing else writes to, and that the caller discards if this throws. */
export async function extractInto(source: Source, dir: string, options: ExtractOptions = {}): Promise<Extracted> {
  return fill(dir, readTar(tarOf(source, options)), options)
}

async function fill(dir: string, entries: AsyncIterable<TarEntry>, options: ExtractOptions): Promise<Extracted> {
  const extraction = new Extraction(dir, options)
  for await (const entry of entries) await extraction.add(entry)
  return extraction.finish()
}

async function hasContent(dir: string): Promise<boolean> {
  try {
    // The link's target does not count.
    const there = await lstatOrNull(dir)
    return there !== null && !there.isSymbolicLink() && (await list(dir)).length > 0
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Moves everything in `from` to `to`; what is in the way is replaced, except that directories are merged. */
async function moveOver(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    const bothDirs = (await isRealDir(source)) && (await isRealDir(target))
    if (bothDirs) await moveOver(source, target)
    else {
      await rm(target, { recursive: true, force: true })
      await rename(source, target)
    }
  }
}

async function isRealDir(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function tarOf(source: Source, options: ExtractOptions): AsyncIterable<Uint8Array> {
  const few = options.blocking && source instanceof Uint8Array ? gunzipFew(source) : null
  return few ? chunksOf(few) : gunzipIfNeeded(chunksOf(source))
}

async function* chunksOf(source: Source): AsyncGenerator<Uint8Array, void, void> {
  if (source instanceof Uint8Array) yield source
  else yield* source
}

const refusalsKept = 1000
/** All names are kept in memory until the end: many long ones would fill it. */
const defaultNameChars = 64 * 2 ** 20

class Extraction {
  readonly #options: ExtractOptions
  readonly #writer: TreeWriter
  readonly #refused: Refusal[] = []
  #refusedCount = 0
  #entries = 0
  #bytes = 0
  #nameChars = 0

  constructor(dir: string, options: ExtractOptions) {
    this.#options = options
    this.#writer = new TreeWriter(dir, {
      disk: options.blocking ? blockingDisk : patientDisk,
      modes: options.modes ?? 'reduced',
      backslashes: options.backslashes ?? 'refuse',
    })
  }

  async add(entry: TarEntry): Promise<void> {
    this.#options.signal?.throwIfAborted()
    this.#entries++
    this.#count('entries', this.#entries, this.#options.limitEntries ?? 500_000)
    this.#nameChars += entry.name.length + entry.link.length
    this.#count('characters in names', this.#nameChars, this.#options.limitNameChars ?? defaultNameChars)
    if (entry.kind === 'file') this.#countBytes(entry.size)
    const reason = await this.#write(entry)
    if (reason !== null) this.#refuse(entry.name, reason)
  }

  async finish(): Promise<Extracted> {
    for (const { path, reason } of await this.#writer.writeSymlinks()) this.#refuse(path, reason)
    return { entries: this.#entries, bytes: this.#bytes, refused: this.#refused, refusedCount: this.#refusedCount }
  }

  /** The reason why the entry was not written, or null. */
  async #write(entry: TarEntry): Promise<string | null> {
    if (entry.garbledName || entry.garbledLink) return 'its name is not UTF-8'
    if ((entry.kind === 'symlink' || entry.kind === 'hardlink') && this.#options.links !== 'inside') {
      return `it is a link to ${JSON.stringify(entry.link)}`
    }
    switch (entry.kind) {
      case 'file':
        return this.#writer.file(entry.name, entry.mode, this.#watched(entry.body), entry.size)
      case 'dir':
        return this.#writer.dir(entry.name, entry.mode)
      case 'symlink':
        return this.#writer.symlink(entry.name, entry.link)
      case 'hardlink':
        return this.#writer.hardlink(entry.name, entry.link, (size) => this.#countBytes(size))
      default:
        return `it is ${entry.kind === 'other' ? 'of an unknown kind' : `a ${entry.kind}`}`
    }
  }

  async *#watched(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    for await (const chunk of body) {
      this.#options.signal?.throwIfAborted()
      yield chunk
    }
  }

  #countBytes(size: number): void {
    this.#bytes += size
    this.#count('bytes', this.#bytes, this.#options.limitBytes ?? 4 * 2 ** 30)
  }

  #count(what: string, count: number, limit: number): void {
    if (count > limit) throw new ArchiveError(`there are more than ${limit} ${what}`)
  }

  #refuse(name: string, reason: string): void {
    if (this.#options.onRefused !== 'drop')
      throw new ArchiveError(`entry ${JSON.stringify(name.slice(0, 200))} is refused: ${reason}`)
    this.#refusedCount++
    if (this.#refused.length < refusalsKept) this.#refused.push({ name, reason })
  }
}
