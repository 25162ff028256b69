import type { RowRecord } from './messages.ts'

export interface NumberedRow {
  /** The same each time the dataset is read; numbers grow but may skip some. */
  readonly number: number
  readonly row: RowRecord
}

/** Rows of a dataset, in order or one by one. */
export interface RowSource {
  /** Null where counting would mean reading everything. */
  readonly total: number | null
  /** Rows with the columns that facts are made of; a bounded number is in memory. */
  scan(signal: AbortSignal): AsyncGenerator<NumberedRow, void, void>
  /** A whole row; null when there is none of this number. */
  read(number: number): Promise<RowRecord | null>
  close(): Promise<void>
}
