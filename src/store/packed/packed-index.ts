import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { Line, placesIn, readLineChunks } from '../../lib/lines.ts'
import { type IndexLine, isHead, type Member, parseIndexLine, usualLine } from './index-line.ts'

export interface FinishedTrial extends Member {
  /** Where the trial's line starts in the index, and where the next one does. */
  readonly lineAt: number
  readonly lineEnd: number
}

/** The final state of an index, after everything that was added and retracted. */
export class PackedIndex {
  readonly trials = new Map<string, FinishedTrial>()
  readonly failedTries = new Map<string, Map<number, Member>>()
  /** Bytes of the index file that are whole lines; anything after them was torn by a crash. */
  bytes = 0
  /** Bytes of each segment that belong to some member. */
  readonly segmentBytes = new Map<number, number>()
  /** Segments before this one get no more members. */
  firstOpenSegment = 0

  apply(line: IndexLine, lineAt: number, lineEnd: number): void {
    if (line.kind === 'forget') {
      this.trials.delete(line.trial)
      return
    }
    const { trial, segment, offset, length, sha256 } = line
    this.segmentBytes.set(segment, Math.max(this.segmentBytes.get(segment) ?? 0, offset + length))
    if (line.kind === 'trial') this.trials.set(trial, { trial, segment, offset, length, sha256, lineAt, lineEnd })
    else this.#triesOf(trial).set(line.nth, { trial, segment, offset, length, sha256 })
  }

  /** Closes the segment of a line whose bytes are missing: bytes written there later would be taken for that line's. */
  closeSegment(segment: number): void {
    this.firstOpenSegment = Math.max(this.firstOpenSegment, segment + 1)
  }

  /** Every name the store knows: finished trials, and trials with only failed tries. */
  names(): Set<string> {
    return new Set([...this.trials.keys(), ...this.failedTries.keys()])
  }

  triesOf(trial: string): ReadonlyMap<number, Member> {
    return this.failedTries.get(trial) ?? new Map()
  }

  /** The number for the next try to set aside; numbers are never reused. */
  nextTry(trial: string, least: number): number {
    return Math.max(least, ...[...this.triesOf(trial).keys()].map((nth) => nth + 1))
  }

  #triesOf(trial: string): Map<number, Member> {
    const tries = this.failedTries.get(trial) ?? new Map<number, Member>()
    this.failedTries.set(trial, tries)
    return tries
  }
}

export function segmentName(segment: number): string {
  return `segment-${String(segment).padStart(5, '0')}.tar.gz`
}

/** Reads an index up to its torn end, and accepts only lines whose bytes are in a segment. Changes nothing on disk. */
export async function loadIndex(packedDir: string): Promise<PackedIndex> {
  const index = new PackedIndex()
  const sizes = await segmentSizes(packedDir)
  const path = join(packedDir, 'index.jsonl')
  let tornAt: number | null = null
  for await (const { bytes, at } of chunksIfAny(path)) {
    const hasZeros = bytes.includes(0)
    for (const { from, to, whole } of placesIn(bytes)) {
      const usual = hasZeros || !whole || tornAt !== null ? null : usualLine(bytes, from, to)
      if (usual !== null && at + from > 0) {
        addLine(index, { at: at + from, end: at + to + 1 }, usual, sizes)
        continue
      }
      const line = new Line(at + from, bytes.subarray(from, to), whole)
      const parsed = line.at === 0 ? null : parseIndexLine(line.bytes)
      const good = line.whole && (line.at === 0 ? isHead(line.text) : parsed !== null)
      if (!good) tornAt ??= line.at
      if (line.at === 0 && line.whole && !good) throw notAnIndex(path, line.text)
      if (tornAt === null) addLine(index, line, parsed, sizes)
      else if (good && parsed && parsed.batch > tornAt) throw damaged(path, tornAt)
    }
  }
  return index
}

function addLine(
  index: PackedIndex,
  { at, end }: Pick<Line, 'at' | 'end'>,
  parsed: IndexLine | null,
  sizes: ReadonlyMap<number, number>,
): void {
  index.bytes = end
  if (parsed === null) return
  if (parsed.kind === 'forget' || hasBytes(parsed, sizes)) index.apply(parsed, at, end)
  else index.closeSegment(parsed.segment)
}

async function* chunksIfAny(path: string): ReturnType<typeof readLineChunks> {
  try {
    yield* readLineChunks(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function hasBytes(member: Member, sizes: ReadonlyMap<number, number>): boolean {
  return member.offset + member.length <= (sizes.get(member.segment) ?? 0)
}

async function segmentSizes(packedDir: string): Promise<Map<number, number>> {
  const sizes = new Map<number, number>()
  for (const segment of await listSegments(packedDir)) {
    sizes.set(segment, (await stat(join(packedDir, segmentName(segment)))).size)
  }
  return sizes
}

/** Numbers of the segments in a directory. */
export async function listSegments(packedDir: string): Promise<number[]> {
  try {
    const names = await readdir(packedDir)
    return names.flatMap((name) => /^segment-(\d{5,})\.tar\.gz$/.exec(name)?.[1] ?? []).map(Number)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function notAnIndex(path: string, text: string): UserError {
  return new UserError(
    `${path}: expected the index of a packed job (packed/1, gzip), got ${JSON.stringify(text.slice(0, 60))}`,
    'a newer version may have written it',
  )
}

/**
 * A torn end comes from a crash and is cut off; a bad line before others that became durable later is lost data and
 * must not be.
 */
function damaged(path: string, at: number): BoundaryError {
  return new BoundaryError('store', `${path} is damaged at byte ${at}: restore it from a backup`, { retryable: false })
}
