import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { columnsOf, type ExtraColumn, type TraceColumn, type TraceRow } from './row.ts'
import { TraceParquetWriter, type WriteBytes } from './write-parquet.ts'

export const traceFormats = ['parquet', 'jsonl'] as const
export type TraceFormat = (typeof traceFormats)[number]

/** A finished file of a dataset, with its path relative to the dataset. */
export interface ShardFile {
  readonly path: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

export interface ShardOptions {
  readonly extra: readonly ExtraColumn[]
  /** Rows per file; null: a new file starts after about 500 MB of text. */
  readonly shardRows: number | null
}

interface RowWriter {
  add(row: TraceRow, bytes: number): Promise<void>
  finish(): Promise<void>
}

/**
 * Writes rows into numbered files, `data/train-00000-of-0000N.parquet` or `jsonl/train-...`; they get their final names
 * at the end, once N is known.
 */
export class ShardedTraces {
  readonly #dir: string
  readonly #format: TraceFormat
  readonly #columns: readonly TraceColumn[]
  readonly #shardRows: number
  readonly #done: ShardFile[] = []
  #open: Shard | undefined

  constructor(dir: string, format: TraceFormat, options: ShardOptions) {
    this.#dir = dir
    this.#format = format
    this.#columns = columnsOf(options.extra)
    this.#shardRows = options.shardRows ?? Number.POSITIVE_INFINITY
  }

  async add(row: TraceRow, bytes: number): Promise<void> {
    this.#open ??= await this.#next()
    await this.#open.add(row, bytes)
    if (this.#open.rows >= this.#shardRows || this.#open.textBytes >= shardBytes) await this.#close()
  }

  /**
   * Finishes the last file and names them all. Without rows there is one empty file, which readers can open like any
   * other.
   */
  async finish(): Promise<ShardFile[]> {
    if (this.#done.length === 0) this.#open ??= await this.#next()
    await this.#close()
    const named: ShardFile[] = []
    for (const [index, file] of this.#done.entries()) {
      const path = `${folders[this.#format]}/train-${five(index)}-of-${five(this.#done.length)}.${this.#format}`
      await rename(join(this.#dir, file.path), join(this.#dir, path))
      named.push({ ...file, path })
    }
    return named
  }

  /** Closes the open file when the export is abandoned. */
  async abandon(): Promise<void> {
    await this.#open?.abandon()
    this.#open = undefined
  }

  async #next(): Promise<Shard> {
    const path = `${folders[this.#format]}/part-${five(this.#done.length)}`
    await mkdir(join(this.#dir, folders[this.#format]), { recursive: true })
    const file = await open(join(this.#dir, path), 'wx', 0o644)
    const makeWriter = (write: WriteBytes) =>
      this.#format === 'parquet' ? new TraceParquetWriter(this.#columns, write) : jsonLines(write)
    return new Shard(path, file, makeWriter)
  }

  async #close(): Promise<void> {
    const shard = this.#open
    this.#open = undefined
    if (shard) this.#done.push(await shard.finish())
  }
}

const folders = { parquet: 'data', jsonl: 'jsonl' } as const
const shardBytes = 500_000_000

function five(number: number): string {
  return String(number).padStart(5, '0')
}

class Shard {
  rows = 0
  textBytes = 0
  readonly #path: string
  readonly #file: FileHandle
  readonly #hash: Hash = createHash('sha256')
  readonly #writer: RowWriter
  #bytes = 0

  constructor(path: string, file: FileHandle, makeWriter: (write: WriteBytes) => RowWriter) {
    this.#path = path
    this.#file = file
    this.#writer = makeWriter(async (bytes) => {
      this.#hash.update(bytes)
      this.#bytes += bytes.length
      await file.writeFile(bytes)
    })
  }

  async add(row: TraceRow, bytes: number): Promise<void> {
    this.rows++
    this.textBytes += bytes
    await this.#writer.add(row, bytes)
  }

  async finish(): Promise<ShardFile> {
    try {
      await this.#writer.finish()
      await this.#file.sync()
    } finally {
      await this.#file.close()
    }
    return { path: this.#path, rows: this.rows, bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }

  async abandon(): Promise<void> {
    await this.#file.close()
  }
}

const linesAtOnceChars = 1 << 20

function jsonLines(write: WriteBytes): RowWriter {
  let waiting: string[] = []
  let chars = 0
  const flush = async () => {
    const text = waiting.join('')
    waiting = []
    chars = 0
    await write(Buffer.from(text))
  }
  return {
    async add(row) {
      const line = `${JSON.stringify(row)}\n`
      waiting.push(line)
      chars += line.length
      if (chars >= linesAtOnceChars) await flush()
    },
    finish: flush,
  }
}

/** The approximate uncompressed size of a row's values. */
export function rowBytes(row: TraceRow): number {
  let bytes = 0
  for (const value of Object.values(row)) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value)
    else if (!Array.isArray(value)) bytes += 8
    else
      for (const message of value) for (const text of Object.values(message)) bytes += Buffer.byteLength(String(text))
  }
  return bytes
}
