import { randomBytes } from 'node:crypto'
import { constants, lstatSync, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrialRecord } from '../core/trial.ts'
import { isCoherent } from '../lib/file-systems.ts'
import { readLineBatches } from '../lib/lines.ts'
import { Parts, parseLine, renderLine, splitRecord } from './record-rows.ts'

/** A hidden file beside the trials. It can be removed at any time. */
export const indexName = '.records.index'

/** What a file that changed can have kept by accident is excluded by the time of its last change, which has no finer grain than this. */
const usualSettleMs = 2000

/** What tells the files of a finished trial from any others that were or will be in their place. */
export interface Stamp {
  readonly text: string
  readonly changedMs: number
}

/** A record as its files have it. */
export interface FoundRecord {
  /** The name under which the store keeps the trial. */
  readonly name: string
  readonly record: TrialRecord
  /** Taken before the files were read; null for a record that must not be copied. */
  readonly stamp: Stamp | null
}

/** A copy of a record whose trial has not changed. */
type IndexedRecord = Pick<FoundRecord, 'name' | 'record'>

/** The files that an index has copies of. */
export interface RecordFiles {
  /** Null for a trial that is not finished. */
  stampOf(name: string): Stamp | null
  /** The records of those of the trials that are finished. */
  read(names: ReadonlySet<string>): AsyncIterable<FoundRecord>
}

/** Of all these files together; null when one of them is not there. */
export function stampOfFiles(paths: readonly string[]): Stamp | null {
  let [text, changedMs] = ['', 0]
  try {
    for (const path of paths) {
      const { ino, size, ctimeMs } = statSync(path)
      text += `${ino}.${size}.${ctimeMs}-`
      changedMs = Math.max(changedMs, ctimeMs)
    }
    return { text, changedMs }
  } catch {
    return null
  }
}

/** How an index is used; tests choose other numbers. */
export interface IndexOptions {
  /** A job of fewer trials is read without an index (default 1000). */
  readonly indexFrom?: number | undefined
  readonly settleMs?: number | undefined
}

/** The records of trials: from the index of their job where they have not changed since, otherwise from their files. */
export async function* readIndexed(
  jobDir: string,
  names: ReadonlySet<string>,
  files: RecordFiles,
  { indexFrom = 1000, settleMs }: IndexOptions = {},
): AsyncGenerator<TrialRecord, void, void> {
  const index = RecordIndex.of(jobDir, files, settleMs)
  const left = new Set(names)
  for await (const batch of index?.read(left) ?? []) {
    for (const { name } of batch) left.delete(name)
    for (const { record } of batch) yield record
  }
  if (left.size === 0) return
  const additions = index && left.size >= indexFrom / 10 ? await index.add() : null
  try {
    for await (const found of files.read(left)) {
      await additions?.add(found)
      yield found.record
    }
  } finally {
    await additions?.close()
  }
}

/**
 * Copies of the records of a job in one file, so that reading a job of many trials opens one file and not two for each of them.
 * What many records share, above all their settings, is there once. Nothing in it is believed unless the files of the trial are
 * the very ones that it was read from: the same inodes, sizes and times of change.
 * A torn or foreign line is passed over, so that it needs no lock and no sync.
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

  /** Null where the system may answer from memory what files are like now, as over NFS. */
  static of(jobDir: string, files: Pick<RecordFiles, 'stampOf'>, settleMs = usualSettleMs): RecordIndex | null {
    return isCoherent(jobDir) ? new RecordIndex(jobDir, files, settleMs) : null
  }

  /** The records of those trials that have not changed since they were written down, many at a time; each once. */
  async *read(names: ReadonlySet<string>): AsyncGenerator<readonly IndexedRecord[], void, void> {
    if (!isOurs(this.#path)) return
    const seen = new Set<string>()
    const parts = new Parts()
    for await (const lines of readLineBatches(this.#path)) {
      const found: IndexedRecord[] = []
      for (const { text } of lines) {
        if (text === '') continue
        const line = parseLine(text)
        if (line?.kind === 'part') {
          parts.add(line)
          continue
        }
        const isNew = line !== null && names.has(line.name) && !seen.has(line.name)
        const record = isNew && this.#files.stampOf(line.name)?.text === line.stamp ? parts.join(line) : null
        if (line === null || record === null) this.#stale++
        else {
          seen.add(line.name)
          found.push({ name: line.name, record })
        }
      }
      this.#valid += found.length
      yield found
    }
  }

  /** Adds records to the file; what cannot be written is left out. */
  async add(): Promise<IndexAdditions | null> {
    try {
      if (lstatSync(this.#jobDir).uid !== process.geteuid?.()) return null
      // Mostly lines of trials that have changed: better made again.
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

/** Lines on their way into an index. */
class IndexAdditions {
  // The line before may have been torn.
  #waiting = '\n'
  #broken = false
  /** Those that this writer wrote: another may remove the file at any time, with all that it wrote before. */
  readonly #parts = new Map<string, string>()
  readonly #writer = randomBytes(9).toString('base64url')

  constructor(
    private readonly file: FileHandle,
    private readonly settleMs: number,
  ) {}

  async add({ name, stamp, record }: FoundRecord): Promise<void> {
    if (stamp === null || stamp.changedMs > Date.now() - this.settleMs) return
    const { own, ofAgent, ofTask } = splitRecord(record)
    const parts = [this.#part(ofAgent), this.#part(ofTask)]
    this.#waiting += renderLine(['row', JSON.stringify(name), stamp.text, ...parts, JSON.stringify(own)])
    if (this.#waiting.length > flushChars) await this.#flush()
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
    this.#waiting += renderLine(['part', id, text])
    this.#parts.set(text, id)
    return id
  }

  /** A full disk is no reason to read no further. */
  async #flush(): Promise<void> {
    if (this.#waiting.length > 1 && !this.#broken)
      await this.file.appendFile(this.#waiting).catch(() => {
        this.#broken = true
      })
    this.#waiting = ''
  }
}

const flushChars = 1 << 20

/** Written by this user. In a job of others a link or a pipe may have the name, and records that were never parsed. */
function isOurs(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.nlink === 1 && stats.uid === process.geteuid?.()
}
