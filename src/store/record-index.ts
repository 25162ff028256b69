import { randomBytes } from 'node:crypto'
import { constants, lstatSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { TrialRecord } from '../core/trial.ts'
import { isCoherent } from '../lib/disk.ts'
import { placesIn, readLineChunks } from '../lib/lines.ts'
import { type Row, RowReader, renderPart, renderRows, splitRecord, type WrittenRows } from './record-rows.ts'

// This file is loaded for jobs with many trials. Otherwise V8 would double its space for new objects only after several
// collections each.
setFlagsFromString('--semi-space-growth-factor=16')

/** A hidden file next to the trials. It can be removed at any time. */
export const indexName = '.records.index'

/**
 * Files changed more recently than this are not indexed: change times have no finer resolution, so a later change could
 * go unnoticed.
 */
export const usualSettleMs = 2000

/** Distinguishes the files of a finished trial from any earlier or later ones in their place. */
export interface Stamp {
  readonly numbers: readonly number[]
  readonly changedMs: number
}

/** A record as read from its files. */
export interface FoundRecord {
  /** The name under which the store keeps the trial. */
  readonly name: string
  readonly record: TrialRecord
  /** Taken before the files were read; null for a record that must not be copied. */
  readonly stamp: Stamp | null
}

/** The files that an index has copies of. */
export interface RecordFiles {
  /** Null for a trial that is not finished. */
  stampOf(name: string): Stamp | null
  /** The records of those of the trials that are finished, many at a time. */
  read(names: ReadonlySet<string>): AsyncIterable<readonly FoundRecord[]>
}

/** The combined stamp of these files; null when one of them is missing. */
export function stampOfFiles(...paths: readonly string[]): Stamp | null {
  const numbers: number[] = []
  let changedMs = 0
  for (const path of paths) {
    const stats = statIfAny(path)
    if (!stats) return null
    const { ino, size, ctimeMs } = stats
    numbers.push(ino, size, ctimeMs)
    if (ctimeMs > changedMs) changedMs = ctimeMs
  }
  return { numbers, changedMs }
}

function statIfAny(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}

/** How an index is used; tests pass other values. */
export interface IndexOptions {
  /** A job with fewer trials is read without an index (default 1000). */
  readonly indexFrom?: number | undefined
  readonly settleMs?: number | undefined
  /** False for a reader whose job will soon change its layout (default true). */
  readonly writes?: boolean | undefined
}

/** The records of trials in batches: from the job's index if unchanged, otherwise from their files. */
export async function* readIndexed(
  jobDir: string,
  names: ReadonlySet<string>,
  files: RecordFiles,
  { indexFrom = 1000, settleMs, writes = true }: IndexOptions = {},
): AsyncGenerator<readonly TrialRecord[], void, void> {
  const index = RecordIndex.of(jobDir, files, settleMs)
  const left = new Set(names)
  if (index) yield* index.take(left)
  if (left.size === 0) return
  const additions = index && writes && left.size >= indexFrom / 10 ? await index.add() : null
  try {
    for await (const found of files.read(left)) {
      if (additions) await additions.add(found)
      yield found.map(({ record }) => record)
    }
  } finally {
    await additions?.close()
  }
}

/**
 * Copies of a job's records in one file, so that reading many trials opens one file instead of two per trial. What many
 * records share, above all their settings, is stored once. An entry is used only if the trial's files are the very ones
 * it was read from: same inodes, sizes and change times. Torn or foreign lines are skipped, so the file needs no lock
 * and no sync.
 */
export class RecordIndex {
  readonly #jobDir: string
  readonly #path: string
  readonly #files: Pick<RecordFiles, 'stampOf'>
  readonly #settleMs: number
  #stale = 0
  #valid = 0

  private constructor(jobDir: string, files: Pick<RecordFiles, 'stampOf'>, settleMs: number) {
    this.#jobDir = jobDir
    this.#path = join(jobDir, indexName)
    this.#files = files
    this.#settleMs = settleMs
  }

  /** Null where the system may answer from a cache what files are like, as over NFS. */
  static of(jobDir: string, files: Pick<RecordFiles, 'stampOf'>, settleMs = usualSettleMs): RecordIndex | null {
    return isCoherent(jobDir) ? new RecordIndex(jobDir, files, settleMs) : null
  }

  /** Yields the indexed records of unchanged trials in batches and removes their names from the set. */
  async *take(names: Set<string>): AsyncGenerator<readonly TrialRecord[], void, void> {
    if (!isOurs(this.#path)) return
    const reader = new RowReader()
    for await (const { bytes } of readLineChunks(this.#path)) {
      for (const { from, to } of placesIn(bytes)) {
        if (from === to) continue
        const rows = reader.read(bytes.subarray(from, to))
        if (rows === null) this.#stale++
        else if (rows.names.length > 0) yield this.#unchanged(rows, names)
      }
    }
  }

  #unchanged({ names, stamps, record }: WrittenRows, wanted: Set<string>): readonly TrialRecord[] {
    const found: TrialRecord[] = []
    const width = stamps.length / names.length
    for (let nth = 0; nth < names.length; nth++) {
      const name = names[nth] ?? ''
      const stamp = wanted.has(name) ? this.#files.stampOf(name) : null
      const copy = stamp !== null && isSame(stamp.numbers, stamps, nth * width, width) ? record(nth) : null
      if (copy === null) continue
      found.push(copy)
      wanted.delete(name)
    }
    this.#valid += found.length
    this.#stale += names.length - found.length
    return found
  }

  /** Adds records to the file; records that cannot be written are left out. */
  async add(): Promise<IndexAdditions | null> {
    try {
      if (lstatSync(this.#jobDir).uid !== process.geteuid?.()) return null
      // Mostly lines of trials that have changed: rebuilding is better.
      if (this.#stale > this.#valid) await rm(this.#path, { force: true })
      const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
      const file = await open(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644)
      if (isOurs(this.#path)) return new IndexAdditions(file, this.#settleMs)
      await file.close()
      return null
    } catch {
      return null
    }
  }
}

function isSame(numbers: readonly number[], stamps: Float64Array, from: number, width: number): boolean {
  if (numbers.length !== width) return false
  for (let i = 0; i < width; i++) if (numbers[i] !== stamps[from + i]) return false
  return true
}

/** Lines on their way into an index. */
class IndexAdditions {
  // The line before may have been torn.
  #lines: Buffer[] = [Buffer.from('\n')]
  #broken = false
  /** Rows with the same keys, grouped because columns take less space. */
  readonly #rows = new Map<string, Row[]>()
  /** Shared parts that this writer wrote: another process may remove the file at any time, with everything in it. */
  readonly #parts = new Map<string, string>()
  readonly #writer = randomBytes(9).toString('base64url')

  constructor(
    private readonly file: FileHandle,
    private readonly settleMs: number,
  ) {}

  async add(found: readonly FoundRecord[]): Promise<void> {
    const before = Date.now() - this.settleMs
    for (const { name, stamp, record } of found) {
      if (stamp === null || stamp.changedMs > before) continue
      const { own, ofAgent, ofTask } = splitRecord(record)
      const row = { name, stamp: stamp.numbers, ofAgent: this.#part(ofAgent), ofTask: this.#part(ofTask), own }
      const shape = Object.keys(own).join()
      const rows = this.#rows.get(shape) ?? []
      this.#rows.set(shape, rows)
      if (rows.push(row) >= rowsInLine) await this.#flush()
    }
  }

  async close(): Promise<void> {
    await this.#flush()
    await this.file.close().catch(() => {})
  }

  #part(value: unknown): string {
    const text = JSON.stringify(value)
    const known = this.#parts.get(text)
    if (known !== undefined) return known
    const id = `${this.#writer}.${this.#parts.size}`
    this.#lines.push(renderPart(id, text))
    this.#parts.set(text, id)
    return id
  }

  /** A full disk is no reason to stop reading. */
  async #flush(): Promise<void> {
    for (const rows of this.#rows.values()) this.#lines.push(renderRows(rows))
    this.#rows.clear()
    const bytes = Buffer.concat(this.#lines)
    this.#lines = []
    if (bytes.length > 1 && !this.#broken)
      await this.file.appendFile(bytes).catch(() => {
        this.#broken = true
      })
  }
}

/** Many, so that shared parts are stored once; a kill while they are collected loses only these. */
const rowsInLine = 512

/**
 * Whether this user wrote the file. In other people's jobs the name may be a link or a pipe, or hold records that were
 * never parsed.
 */
export function isOurs(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.nlink === 1 && stats.uid === process.geteuid?.()
}
