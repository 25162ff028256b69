import type { FileHandle } from 'node:fs/promises'
import * as zlib from 'node:zlib'
import { decompress } from 'fzstd'
import type { ColumnMetaData, CompressionCodec, Compressors, PageHeader } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { snappyUncompress } from '../../lib/snappy.ts'
import { decodeDictionary, decodePage, type Value } from './decode-page.ts'

/** One flat column of byte arrays in one row group. */
export interface ColumnChunk {
  readonly meta: ColumnMetaData
  readonly nullable: boolean
  readonly rows: number
}

/** The largest page that is read into memory; a page holds at least one whole value. */
export const pageLimitBytes = 2 ** 30
export const headerLimitBytes = 8 << 20
export const pageLimitValues = 10_000_000

/**
 * Yields a column's values page by page: many published files are one huge row group, which would otherwise be read
 * into memory whole.
 */
export async function* readColumn(file: FileHandle, chunk: ColumnChunk): AsyncGenerator<Value, void, void> {
  const { meta } = chunk
  const column = { codec: meta.codec, compressors, nullable: chunk.nullable }
  const starts = [meta.dictionary_page_offset, meta.data_page_offset].filter((at) => at !== undefined && at > 0n)
  let at = Math.min(...starts.map(Number))
  const end = at + Number(meta.total_compressed_size)
  let dictionary: Uint8Array[] = []
  for (let row = 0; row < chunk.rows; ) {
    const { header, content, next } = await readPage(file, at, end)
    at = next
    if (header.type === 'DICTIONARY_PAGE') dictionary = decodeDictionary(header, content, column)
    const count = (header.data_page_header_v2 ?? header.data_page_header)?.num_values
    if (count === undefined) continue
    if (count < 0 || count > Math.min(chunk.rows - row, pageLimitValues)) throw new Error(`a page of ${count} rows`)
    yield* decodePage(header, content, column, dictionary)
    row += count
  }
}

interface Page {
  readonly header: PageHeader
  readonly content: Uint8Array
  /** The offset of the next page. */
  readonly next: number
}

async function readPage(file: FileHandle, at: number, end: number): Promise<Page> {
  const { header, headerBytes } = await readHeader(file, at, end)
  const start = at + headerBytes
  const next = start + header.compressed_page_size
  if (!(next >= start && next <= end)) throw new Error('a page extends past the end of its column')
  if (Math.max(next - start, header.uncompressed_page_size) > pageLimitBytes)
    throw new Error(`a page holds more than ${pageLimitBytes} bytes`)
  return { header, content: await readExactly(file, start, next - start), next }
}

/** A page states its own length but not its header's: read a little, and more if that was not enough. */
async function readHeader(file: FileHandle, at: number, end: number) {
  for (let guess = 1024; ; guess *= 8) {
    const bytes = await readExactly(file, at, Math.max(0, Math.min(guess, end - at)))
    const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 }
    try {
      return { header: parquetHeader(reader), headerBytes: reader.offset }
    } catch (error) {
      if (bytes.length < guess || guess > headerLimitBytes) throw error
    }
  }
}

async function readExactly(file: FileHandle, at: number, size: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(size)
  for (let filled = 0; filled < size; ) {
    const { bytesRead } = await file.read(bytes, filled, size - filled, at + filled)
    if (bytesRead === 0) throw new Error('the file ends inside a column')
    filled += bytesRead
  }
  return bytes
}

/** Available in Node since 22.15. */
const unzstd = (
  zlib as { zstdDecompressSync?: (bytes: Uint8Array, options: { maxOutputLength: number }) => Uint8Array }
).zstdDecompressSync

/** The default codecs of other programs, plus GZIP and BROTLI. */
export const compressors: Compressors = {
  SNAPPY: snappyUncompress,
  GZIP: (bytes, size) => zlib.gunzipSync(bytes, { maxOutputLength: Math.max(1, size) }),
  BROTLI: (bytes, size) => zlib.brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, size) }),
  ZSTD: (bytes, size) =>
    unzstd?.(bytes, { maxOutputLength: Math.max(1, size) }) ?? decompress(bytes, new Uint8Array(size)),
}

/** Whether pages with this codec can be read. */
export function canDecompress(codec: CompressionCodec): boolean {
  return codec === 'UNCOMPRESSED' || compressors[codec] !== undefined
}
