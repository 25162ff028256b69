import type { RowRecord } from './messages.ts'

export interface NumberedRow {
  /** Stable between reads; numbers increase but may skip some. */
  readonly number: number
  readonly row: RowRecord
}

/** A dataset's rows, in order or individually. */
export interface RowSource {
  /** Null if counting would require reading everything. */
  readonly total: number | null
  /** Yields rows with the columns that facts are made from, in bounded memory. */
  scan(signal: AbortSignal): AsyncGenerator<NumberedRow, void, void>
  /** Reads a complete row; null if there is none with this number. */
  read(number: number): Promise<RowRecord | null>
  close(): Promise<void>
}
