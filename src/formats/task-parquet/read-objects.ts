import { type AsyncBuffer, type FileMetaData, parquetReadObjects, type RowGroup } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { getSchemaPath, isFlatColumn } from 'hyparquet/src/schema.js'
import { compressors, headerLimitBytes, pageLimitBytes, pageLimitValues } from './read-column.ts'

interface RowRange {
  readonly file: AsyncBuffer
  readonly metadata: FileMetaData
  readonly rowStart: number
  readonly rowEnd: number
  readonly columns?: string[]
}

const checked = new WeakSet<RowGroup>()

/**
 * Reads rows of a parquet file as objects. The parquet library trusts what pages say about themselves and takes minutes
 * on a damaged one, so pages are checked first.
 */
export async function readParquetObjects(range: RowRange): Promise<Record<string, unknown>[]> {
  const { file, metadata, rowStart, rowEnd } = range
  let first = 0
  for (const group of metadata.row_groups) {
    const next = first + Number(group.num_rows)
    if (!(next >= first)) throw new Error(`a part of ${group.num_rows} rows`)
    if (next > rowStart && first < rowEnd && !checked.has(group)) {
      await checkPages(file, metadata, group)
      checked.add(group)
    }
    first = next
  }
  if (rowEnd > first) throw new Error(`${first} rows where it says it has ${metadata.num_rows}`)
  const rows = await parquetReadObjects({ ...range, compressors })
  if (rows.length !== rowEnd - rowStart) throw new Error(`${rows.length} rows where it says it has more`)
  return rows
}

async function checkPages(file: AsyncBuffer, { schema }: FileMetaData, group: RowGroup): Promise<void> {
  for (const { meta_data: meta } of group.columns) {
    if (meta === undefined) throw new Error('a column without a description')
    const starts = [meta.dictionary_page_offset, meta.data_page_offset].filter((at) => at !== undefined && at > 0n)
    let at = Math.min(...starts.map(Number))
    const end = at + Number(meta.total_compressed_size)
    if (!(at >= 0 && end <= file.byteLength)) throw new Error('a column extends past the end of the file')
    let left = Number(meta.num_values)
    if (isFlatColumn(getSchemaPath(schema, meta.path_in_schema)) && left !== Number(group.num_rows))
      throw new Error(`a column of ${left} values for ${group.num_rows} rows`)
    while (at < end) {
      const { values, next } = await lookOver(file, at, end)
      if (values > left) throw new Error('a column with more values than it says')
      left -= values
      at = next
    }
  }
}

/** The number of values in a page, and the offset of the next one. */
async function lookOver(file: AsyncBuffer, at: number, end: number): Promise<{ values: number; next: number }> {
  const { header, headerBytes } = await readHeader(file, at, end)
  const { compressed_page_size: compressed, uncompressed_page_size: size } = header
  const next = at + headerBytes + compressed
  if (!(compressed >= 0 && next <= end)) throw new Error('a page extends past the end of its column')
  if (!(size >= 0 && size <= pageLimitBytes)) throw new Error(`a page of ${size} bytes`)
  const entries = header.dictionary_page_header?.num_values ?? 0
  if (!(entries >= 0 && entries <= size)) throw new Error(`a dictionary of ${entries} values in ${size} bytes`)
  const values = (header.data_page_header ?? header.data_page_header_v2)?.num_values ?? 0
  if (!(values >= 0 && values <= pageLimitValues)) throw new Error(`a page of ${values} values`)
  return { values, next }
}

/** A page states its own length but not its header's: read a little, and more if that was not enough. */
async function readHeader(file: AsyncBuffer, at: number, end: number) {
  for (let guess = 1024; ; guess *= 8) {
    const bytes = await file.slice(at, Math.min(at + guess, end))
    const reader = { view: new DataView(bytes), offset: 0 }
    try {
      return { header: parquetHeader(reader), headerBytes: reader.offset }
    } catch (error) {
      if (bytes.byteLength < guess || guess > headerLimitBytes) throw error
    }
  }
}
