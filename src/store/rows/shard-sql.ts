import { sqlText } from '../../lib/duckdb.ts'
import type { Shard } from './shards.ts'

type Rows = Pick<Shard, 'part' | 'kept' | 'rows'>

/** The rows of a shard as a query, in order. */
export function selectRows({ part, kept }: Rows): string {
  if (!kept?.includes('0')) return `SELECT * FROM read_parquet(${sqlText(part)})`
  return `SELECT * EXCLUDE (file_row_number) FROM read_parquet(${sqlText(part)}, file_row_number = true) WHERE ${isKept(kept)}`
}

/** The same with a column `row`, each row's number in the file, counted from `first`. */
export function selectNumbered({ part, kept }: Rows, first: number): string {
  const rows = `SELECT * EXCLUDE (file_row_number), file_row_number + ${first} AS row FROM read_parquet(${sqlText(part)}, file_row_number = true)`
  return kept?.includes('0') ? `${rows} WHERE ${isKept(kept)}` : rows
}

/** Files per scan: each scan of a query opens its first file before it starts, and no other. */
const filesOfScan = 100

/** The rows of several shards as one query, in order. */
export function selectAllRows(shards: readonly Rows[]): string {
  return scansOf(shards)
    .map((some) =>
      some.length === 1 ? some.map(selectRows).join() : `SELECT * EXCLUDE (file_row_number) ${scan(some)}`,
    )
    .join(' UNION ALL ')
}

/** The same with a column `row`, each row's number in its file, counted from the shard's `first`. */
export function selectAllNumbered(shards: readonly { readonly shard: Rows; readonly first: number }[]): string {
  return scansOf(shards)
    .map((some) => {
      const [only] = some
      if (only && some.length === 1) return selectNumbered(only.shard, only.first)
      const firsts = `[${some.map(({ first }) => `${first}::BIGINT`).join(', ')}]`
      const row = `file_row_number + ${firsts}[${placeOfFile}] AS row`
      return `SELECT * EXCLUDE (file_row_number), ${row} ${scan(some.map(({ shard }) => shard))}`
    })
    .join(' UNION ALL ')
}

const placeOfFile = 'file_index::BIGINT + 1'

function scan(shards: readonly Rows[]): string {
  const files = `FROM read_parquet([${shards.map(({ part }) => sqlText(part)).join(', ')}], file_row_number = true)`
  if (!shards.some(({ kept }) => kept?.includes('0'))) return files
  const bits = shards.map(({ kept, rows }) => `unhex('${hexOf(kept ?? '1'.repeat(rows)) || '00'}')::BIT`)
  return `${files} WHERE get_bit([${bits.join(', ')}][${placeOfFile}], file_row_number::INTEGER) = 1`
}

function scansOf<T>(shards: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(shards.length / filesOfScan)
  return Array.from({ length: count }, (_, i) => shards.slice(i * filesOfScan, (i + 1) * filesOfScan))
}

/** Takes a quarter of the space of the bits as text; zeros at the end fill the last byte. */
function hexOf(bits: string): string {
  return bits.replaceAll(/.{1,8}/g, (eight) => Number.parseInt(eight.padEnd(8, '0'), 2).toString(16).padStart(2, '0'))
}

/** How many rows a shard's file has, including other shards' rows. */
export function rowsInFile({ kept, rows }: Rows): number {
  return kept?.length ?? rows
}

/** One bit per row, so that a plain scan knows which rows to keep, preserves their order and sorts nothing. */
function isKept(kept: string): string {
  return `get_bit('${kept}'::BIT, file_row_number::INTEGER) = 1`
}
