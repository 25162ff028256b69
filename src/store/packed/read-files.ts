import { hash } from 'node:crypto'
import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { TrialFile } from '../../core/trace.ts'
import { gunzipFew, gunzipIfNeeded, sizeSaidIn } from '../../lib/gzip.ts'
import { ArchiveError } from '../../lib/tar.ts'
import { entriesIn, type FileInTar, plainFilesIn, readTar, type TarEntry } from '../../lib/tar-read.ts'
import type { Member } from './index-line.ts'
import { type PackedIndex, segmentName } from './packed-index.ts'
import { readMember } from './restore.ts'

type LimitOf = (folder: TrialFile['folder'], name: string) => number | null

/** Reads selected files of packed trials from their members without writing anything to disk. */
export function readPackedFiles(packedDir: string, index: PackedIndex) {
  const small = new SmallMembers(packedDir, index)
  return {
    async files(trialName: string, limitOf: LimitOf): Promise<TrialFile[]> {
      const member = index.trials.get(trialName)
      if (!member) throw new UserError(`${packedDir} has no finished trial ${JSON.stringify(trialName)}`, hint)
      try {
        const tar = await small.tarOf(member)
        if (tar) return collectFew(tar, trialName, limitOf)
        return await collect(gunzipIfNeeded(readMember(packedDir, member)), trialName, limitOf)
      } catch (error) {
        if (!(error instanceof ArchiveError)) throw error
        throw new BoundaryError('store', `${packedDir}: trial ${JSON.stringify(trialName)}: ${error.message}`)
      }
    },
    close: () => small.close(),
  }
}

const hint = 'jobs show lists the trials of a job'

/** Members up to this size are read in one go: a stream costs more than reading them. */
const fewBytes = 1 << 20
/**
 * Limits on the bytes read ahead and on the decompressed bytes held. With twice as much, decompressing takes a sixth
 * longer because it no longer fits into the processor's cache.
 */
const ahead = { bytes: 64 << 10, tarBytes: 2 << 20 }

/**
 * The tars of small members. Once members are requested roughly in the order in which they lie, the ones that follow
 * are read and decompressed together with the requested one, which halves the cost of each.
 */
class SmallMembers {
  readonly #packedDir: string
  readonly #index: PackedIndex
  readonly #segments = new Map<number, Promise<FileHandle>>()
  readonly #ready = new Map<Member, Uint8Array>()
  #last: Member | null = null
  #inOrder: readonly Member[] = []
  #places = new Map<Member, number>()

  constructor(packedDir: string, index: PackedIndex) {
    this.#packedDir = packedDir
    this.#index = index
  }

  /** Null for a member that is large or damaged: reading it as a stream then reports what is wrong. */
  async tarOf(member: Member): Promise<Uint8Array | null> {
    if (member.length > fewBytes) return null
    const { fd } = await this.#segmentOf(member.segment)
    const last = this.#last
    this.#last = member
    const known = this.#ready.get(member)
    if (known) return known
    this.#ready.clear()
    if (!last || !isNext(last, member)) return readOne(fd, member)
    const tar = this.#readRun(fd, this.#runFrom(member))
    // The next one is read by itself, so that a failing read-ahead is not repeated each time.
    if (!tar) this.#last = null
    return tar ?? readOne(fd, member)
  }

  async close(): Promise<void> {
    const files = [...this.#segments.values()]
    this.#segments.clear()
    for (const file of files) await (await file).close()
  }

  #segmentOf(segment: number): Promise<FileHandle> {
    const known = this.#segments.get(segment)
    if (known) return known
    const file = open(join(this.#packedDir, segmentName(segment)), 'r')
    this.#segments.set(segment, file)
    // A segment that cannot be opened now may open on the next request.
    file.catch(() => this.#segments.delete(segment))
    return file
  }

  /** A member and those directly after it. */
  #runFrom(member: Member): readonly Member[] {
    if (this.#places.size === 0) {
      this.#inOrder = [...this.#index.trials.values()].sort((a, b) => a.segment - b.segment || a.offset - b.offset)
      this.#places = new Map(this.#inOrder.map((each, place) => [each, place]))
    }
    const from = this.#places.get(member) ?? this.#inOrder.length
    let [to, end] = [from, member.offset]
    for (let next = this.#inOrder[to]; next; next = this.#inOrder[++to]) {
      if (next.segment !== member.segment || next.offset !== end) break
      end += next.length
      if (end - member.offset > ahead.bytes) break
    }
    return this.#inOrder.slice(from, to)
  }

  /**
   * Reads consecutive members: returns the first one's tar and keeps the others. Null when they must be read one by
   * one.
   */
  #readRun(fd: number, run: readonly Member[]): Uint8Array | null {
    const bytes = run.length > 1 ? readBytes(fd, run) : null
    const parts = bytes ? partsOf(bytes, run) : []
    if (!bytes || parts.length < 2) return null
    const [bytesIn, bytesOut] = [sumOf(parts, 'length'), sumOf(parts, 'size')]
    // Concatenated gzip members are valid gzip.
    const tars = gunzipFew(bytes.subarray(0, bytesIn), bytesOut)
    if (tars?.length !== bytesOut) return null
    let at = 0
    for (const { member, size } of parts) {
      this.#ready.set(member, tars.subarray(at, at + size))
      at += size
    }
    return tars.subarray(0, parts[0]?.size)
  }
}

function isNext(last: Member, { segment, offset }: Member): boolean {
  const gap = offset - last.offset
  return segment === last.segment && gap > 0 && gap <= ahead.bytes
}

function readOne(fd: number, member: Member): Uint8Array | null {
  const bytes = readBytes(fd, [member])
  return bytes && isWhole(bytes, member) ? gunzipFew(bytes) : null
}

/** Blocking: for so few bytes this is faster than handing the read to another thread. */
function readBytes(fd: number, run: readonly Member[]): Buffer | null {
  const length = run.reduce((sum, member) => sum + member.length, 0)
  const bytes = Buffer.allocUnsafe(length)
  return readSync(fd, bytes, 0, length, run[0]?.offset ?? 0) === length ? bytes : null
}

interface Part {
  readonly member: Member
  readonly length: number
  /** The declared size of its tar. */
  readonly size: number
}

/** The members that these bytes hold, up to the first one that is damaged or too large. */
function partsOf(bytes: Buffer, run: readonly Member[]): Part[] {
  const parts: Part[] = []
  let [at, out] = [0, 0]
  for (const member of run) {
    const part = bytes.subarray(at, at + member.length)
    const size = sizeSaidIn(part)
    out += size
    if (out > ahead.tarBytes || !isWhole(part, member)) break
    parts.push({ member, length: part.length, size })
    at += member.length
  }
  return parts
}

function sumOf(parts: readonly Part[], key: 'length' | 'size'): number {
  return parts.reduce((sum, part) => sum + part[key], 0)
}

function isWhole(bytes: Uint8Array, { sha256 }: Member): boolean {
  return hash('sha256', bytes, 'hex') === sha256
}

/** The folders of a trial whose files `placeOf` may recognize. */
const folders = ['agent/', 'verifier/', 'steps/'].map((folder) => Buffer.from(folder))

/** Its bytes are known to be the ones that were written. */
function collectFew(tar: Uint8Array, trial: string, limitOf: LimitOf): TrialFile[] {
  const files: TrialFile[] = []
  for (const { name, content } of plainFilesIn(tar, Buffer.byteLength(trial) + 1, folders) ?? filesIn(tar)) {
    const place = knownPlaceOf(name, trial)
    const limit = place && limitOf(place.folder, place.name)
    if (place === null || limit === null) continue
    const { step, folder, name: own } = place
    files.push({ step, folder, name: own, bytes: content.subarray(0, limit), size: content.length })
  }
  return files.sort(byName)
}

function* filesIn(tar: Uint8Array): Generator<FileInTar, void, void> {
  for (const entry of entriesIn(tar)) if (entry.kind === 'file' && !entry.garbledName) yield entry
}

async function collect(source: AsyncIterable<Uint8Array>, trial: string, limitOf: LimitOf): Promise<TrialFile[]> {
  const files: TrialFile[] = []
  for await (const entry of readTar(source)) {
    const place = entry.kind === 'file' && !entry.garbledName ? placeOf(entry.name, trial) : null
    const limit = place && limitOf(place.folder, place.name)
    if (place && limit !== null) files.push({ ...place, bytes: await firstBytes(entry, limit), size: entry.size })
  }
  return files.sort(byName)
}

function byName(a: TrialFile, b: TrialFile): number {
  return a.name < b.name ? -1 : 1
}

type Place = Pick<TrialFile, 'step' | 'folder' | 'name'>

/** A cache, because most trials have files with the same names. */
const places = new Map<string, Place | null>()
const mostPlaces = 1000

function knownPlaceOf(path: string, trial: string): Place | null {
  if (!path.startsWith(trial) || path[trial.length] !== '/') return null
  const inside = path.slice(trial.length + 1)
  const known = places.get(inside)
  if (known !== undefined) return known
  const place = placeOf(path, trial)
  if (places.size < mostPlaces) places.set(inside, place)
  return place
}

/** `TRIAL/agent/NAME` or `TRIAL/steps/STEP/agent/NAME`, where NAME may be in an `episode-N/`; null for every other file. */
function placeOf(path: string, trial: string): Place | null {
  if (path.indexOf('/', trial.length + 1) < 0) return null
  const [root, ...rest] = path.split('/')
  const inStep = rest[0] === 'steps' && rest.length >= 4
  const [folder, ...names] = inStep ? rest.slice(2) : rest
  const isEpisode = names.length === 2 && /^episode-\d+$/.test(names[0] ?? '')
  if (root !== trial || (names.length !== 1 && !isEpisode)) return null
  const name = names.join('/')
  return folder === 'agent' || folder === 'verifier' ? { step: inStep ? (rest[1] ?? null) : null, folder, name } : null
}

async function firstBytes(entry: TarEntry, limitBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let left = limitBytes
  for await (const chunk of entry.body) {
    const part = chunk.subarray(0, left)
    left -= part.length
    // Copy a part of a larger chunk: a small part must not keep a large chunk alive.
    parts.push(part.length === entry.size ? part : Buffer.from(part))
    if (left === 0) break
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
}
