import { hash } from 'node:crypto'
import { constants, lstatSync, statfsSync, statSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrialRecord } from '../core/trial.ts'
import { readLines } from '../lib/lines.ts'
import { readJson } from '../lib/parse-json.ts'
import { recordSchemaDigest } from './trial-record.ts'

/** A hidden file beside the trials. It can be removed at any time. */
export const indexName = '.records.index'

/** What a file that changed can have kept by accident is excluded by the time of its last change, which has no finer grain than this. */
const settleMs = 2000

/** A line of the index whose trial has not changed since. */
export interface IndexedRecord {
  /** The name of its directory. */
  readonly name: string
  readonly record: TrialRecord
}

/**
 * Copies of the records of a job in one file, so that reading a job of many trials opens one file and not two for each of them.
 * Nothing in it is believed unless the files of the trial are the very ones that it was read from: the same inodes, sizes and times of change.
 * A torn or foreign line is passed over, so that it needs no lock and no sync.
 */
export class RecordIndex {
  readonly #jobDir: string
  readonly #path: string
  readonly #settleMs: number
  #stale = 0
  #valid = 0

  private constructor(jobDir: string, settle: number) {
    this.#jobDir = jobDir
    this.#path = join(jobDir, indexName)
    this.#settleMs = settle
  }

  /** Null where the system may answer from memory what files are like now, as over NFS. */
  static of(jobDir: string, settle = settleMs): RecordIndex | null {
    return coherent.has(statfsSync(jobDir).type) ? new RecordIndex(jobDir, settle) : null
  }

  /** The records of those trials that have not changed since they were written down; each once. */
  async *read(names: ReadonlySet<string>): AsyncGenerator<IndexedRecord, void, void> {
    if (!isPlain(this.#path)) return
    const seen = new Set<string>()
    for await (const { text } of readLines(this.#path)) {
      if (text === '') continue
      const line = parseLine(text)
      const isNew = line !== null && names.has(line.name) && !seen.has(line.name)
      if (!isNew || stampOf(join(this.#jobDir, line.name))?.text !== line.stamp) {
        this.#stale++
        continue
      }
      seen.add(line.name)
      this.#valid++
      yield { name: line.name, record: readJson(line.record) as TrialRecord }
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
      if (isPlain(this.#path)) return new IndexAdditions(file, this.#settleMs)
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

  constructor(
    private readonly file: FileHandle,
    private readonly settle: number,
  ) {}

  /** `stamp` was taken before the record was read. */
  async add(name: string, stamp: Stamp | null, record: TrialRecord): Promise<void> {
    if (stamp === null || stamp.changedMs > Date.now() - this.settle) return
    this.#waiting += renderLine(name, stamp.text, record)
    if (this.#waiting.length > flushChars) await this.#flush()
  }

  async close(): Promise<void> {
    await this.#flush()
    await this.file.close().catch(() => {})
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

/** What tells the files of a finished trial from any others that were or will be in their place. */
export interface Stamp {
  readonly text: string
  readonly changedMs: number
}

/** Null for a trial that has not both files. */
export function stampOf(trialDir: string): Stamp | null {
  try {
    const files = ['result.json', 'record.json'].map((name) => statSync(join(trialDir, name), { bigint: true }))
    return {
      text: files.map(({ ino, size, ctimeNs, mtimeNs }) => `${ino}.${size}.${ctimeNs}.${mtimeNs}`).join('-'),
      changedMs: Math.max(...files.map(({ ctimeMs }) => Number(ctimeMs))),
    }
  } catch {
    return null
  }
}

function renderLine(name: string, stamp: string, record: TrialRecord): string {
  const rest = [JSON.stringify(name), stamp, JSON.stringify(record)].join('\t')
  return `${digestOf(rest)}\t${rest}\n`
}

function parseLine(text: string): { readonly name: string; readonly stamp: string; readonly record: string } | null {
  if (text[digestChars] !== '\t' || text.slice(0, digestChars) !== digestOf(text.slice(digestChars + 1))) return null
  const [name = '', stamp = '', record = ''] = text.slice(digestChars + 1).split('\t')
  return { name: String(readJson(name)), stamp, record }
}

const digestChars = 24

/** Records in an index were parsed when it was written, and are not parsed again: another schema of records makes all lines foreign. */
function digestOf(text: string): string {
  return hash('sha256', `${recordSchemaDigest()}\n${text}`).slice(0, digestChars)
}

/** In a job of others a link or a pipe may have the name. */
function isPlain(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isFile() === true && stats.nlink === 1
}

/** ext, XFS, Btrfs, tmpfs, overlays, ZFS, bcachefs, F2FS, Lustre and GPFS: there stat tells what is now. */
const coherent: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xca451a4e, 0xf2f52010, 0x0bd00bd0, 0x47504653,
])
