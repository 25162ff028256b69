import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { snappyCompress } from '../../lib/snappy.ts'
import { featuresOf, parquetSchema } from './parquet-schema.ts'
import { type TraceColumn, type TraceRow, traceColumns } from './row.ts'

/** A row group is written once it holds about this much text; a reader needs a few times that in memory. */
const groupBytes = 16 << 20
const groupRows = 10_000

/** Receives a file's bytes in order. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>

/** Writes rows to a parquet file that pyarrow and `datasets` can read, with one row group in memory. */
export class TraceParquetWriter {
  readonly #columns: readonly TraceColumn[]
  readonly #parquet: ParquetWriter
  #rows: TraceRow[] = []
  #waitingBytes = 0

  constructor(columns: readonly TraceColumn[], write: WriteBytes) {
    const writer = new ByteWriter()
    const flush = async () => {
      await write(new Uint8Array(writer.buffer, 0, writer.index))
      writer.index = 0
    }
    Object.assign(writer, { flush, finish: flush })
    this.#columns = columns
    this.#parquet = new ParquetWriter({
      writer,
      schema: parquetSchema(columns),
      codec: 'SNAPPY',
      compressors: { SNAPPY: snappyCompress },
      // Min/max statistics of long texts would bloat the footer and are meaningless.
      statistics: false,
      kvMetadata: [{ key: 'huggingface', value: JSON.stringify({ info: { features: featuresOf(columns) } }) }],
    })
  }

  /** `bytes`: the approximate amount of text in the row. */
  async add(row: TraceRow, bytes: number): Promise<void> {
    this.#rows.push(row)
    this.#waitingBytes += bytes
    if (this.#waitingBytes >= groupBytes || this.#rows.length >= groupRows) await this.#writeGroup()
  }

  async finish(): Promise<void> {
    await this.#writeGroup()
    await this.#parquet.finish()
  }

  async #writeGroup(): Promise<void> {
    const rows = this.#rows
    if (rows.length === 0) return
    this.#rows = []
    this.#waitingBytes = 0
    const columnData = this.#columns.map((name) => ({ name, data: rows.map((row) => cell(row, name)) }))
    await this.#parquet.write({ columnData, rowGroupSize: rows.length })
  }
}

function cell(row: TraceRow, name: TraceColumn): unknown {
  const value = row[name] ?? null
  return traceColumns[name] === 'int64' && typeof value === 'number' ? BigInt(value) : value
}
