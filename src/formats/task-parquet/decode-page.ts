import type { CompressionCodec, Compressors, PageHeader } from 'hyparquet'
import { decompressPage } from 'hyparquet/src/datapage.js'
import { deltaByteArray, deltaLengthByteArray } from 'hyparquet/src/delta.js'

export type Value = Uint8Array | null

/** What decoding a page requires to know about its column. */
export interface PageColumn {
  readonly codec: CompressionCodec
  readonly compressors: Compressors
  /** Whether rows may lack a value. */
  readonly nullable: boolean
}

/** The values of a dictionary page. */
export function decodeDictionary(header: PageHeader, content: Uint8Array, column: PageColumn): Uint8Array[] {
  const page = decompressPage(content, header.uncompressed_page_size, column.codec, column.compressors)
  return readPlain(page, header.dictionary_page_header?.num_values ?? 0)
}

/**
 * Decodes a data page of byte arrays. Written here because a damaged page must cause an error and not exhaust memory.
 */
export function decodePage(
  header: PageHeader,
  content: Uint8Array,
  column: PageColumn,
  dictionary: readonly Uint8Array[],
): Value[] {
  const { levels, values, encoding, count } = header.data_page_header_v2
    ? splitV2(header, header.data_page_header_v2, content, column)
    : splitV1(header, content, column)
  const present = levels === null ? count : levels.reduce((sum, level) => sum + (level === 1 ? 1 : 0), 0)
  const read = decodeValues(encoding, values, present, dictionary)
  if (levels === null) return read
  let next = 0
  return Array.from(levels, (level) => (level === 1 ? (read[next++] ?? null) : null))
}

interface SplitPage {
  /** One level per row, 1 if it has a value; null if all have one. */
  readonly levels: Uint32Array | null
  readonly values: Uint8Array
  readonly encoding: string
  readonly count: number
}

function splitV1(header: PageHeader, content: Uint8Array, column: PageColumn): SplitPage {
  const data = header.data_page_header
  if (!data) throw new Error('a page without a header')
  const page = decompressPage(content, header.uncompressed_page_size, column.codec, column.compressors)
  if (!column.nullable) return { levels: null, values: page, encoding: data.encoding, count: data.num_values }
  const length = viewOf(page).getUint32(0, true)
  const levels = readHybrid(page.subarray(4, 4 + length), 1, data.num_values)
  return { levels, values: page.subarray(4 + length), encoding: data.encoding, count: data.num_values }
}

function splitV2(
  header: PageHeader,
  data: NonNullable<PageHeader['data_page_header_v2']>,
  content: Uint8Array,
  column: PageColumn,
): SplitPage {
  const levelBytes = data.repetition_levels_byte_length + data.definition_levels_byte_length
  const rest = content.subarray(levelBytes)
  const compressed = data.is_compressed !== false
  const values = compressed
    ? decompressPage(rest, header.uncompressed_page_size - levelBytes, column.codec, column.compressors)
    : rest
  const levels = column.nullable
    ? readHybrid(content.subarray(data.repetition_levels_byte_length, levelBytes), 1, data.num_values)
    : null
  return { levels, values, encoding: data.encoding, count: data.num_values }
}

function decodeValues(
  encoding: string,
  bytes: Uint8Array,
  count: number,
  dictionary: readonly Uint8Array[],
): Uint8Array[] {
  switch (encoding) {
    case 'PLAIN':
      return readPlain(bytes, count)
    case 'PLAIN_DICTIONARY':
    case 'RLE_DICTIONARY':
      return lookUp(bytes, count, dictionary)
    case 'DELTA_LENGTH_BYTE_ARRAY':
      return readDelta(deltaLengthByteArray, bytes, count)
    case 'DELTA_BYTE_ARRAY':
      return readDelta(deltaByteArray, bytes, count)
    default:
      throw new Error(`encoding ${encoding} is not known here`)
  }
}

function readPlain(bytes: Uint8Array, count: number): Uint8Array[] {
  const view = viewOf(bytes)
  const values: Uint8Array[] = []
  for (let at = 0; values.length < count; ) {
    const length = view.getUint32(at, true)
    at += 4
    if (at + length > bytes.length) throw new Error('a value extends past the end of its page')
    values.push(bytes.subarray(at, at + length))
    at += length
  }
  return values
}

function lookUp(bytes: Uint8Array, count: number, dictionary: readonly Uint8Array[]): Uint8Array[] {
  const width = count === 0 ? 0 : viewOf(bytes).getUint8(0)
  return Array.from(readHybrid(bytes.subarray(1), width, count), (index) => {
    const value = dictionary[index]
    if (!value) throw new Error('a value is not in the dictionary of its column')
    return value
  })
}

function readDelta(read: typeof deltaByteArray, bytes: Uint8Array, count: number): Uint8Array[] {
  // The library trusts the lengths; each value takes at least a few bits of the page.
  if (count > bytes.length * 64) throw new Error('a page claims more values than it can hold')
  const values: Uint8Array[] = new Array(count)
  // Copy the bytes, so that a wrong length hits the end and does not read other memory.
  read({ view: viewOf(new Uint8Array(bytes)), offset: 0 }, count, values)
  return values
}

/** Reads parquet's hybrid encoding of repeated runs and bit-packed groups of eight. */
function readHybrid(bytes: Uint8Array, width: number, count: number): Uint32Array {
  if (width > 32) throw new Error(`numbers of ${width} bits`)
  const view = viewOf(bytes)
  const values = new Uint32Array(count)
  const cursor = { at: 0 }
  for (let filled = 0; filled < count; ) {
    const head = readVarint(view, cursor)
    const packed = head % 2 === 1
    const said = Math.floor(head / 2)
    const length = Math.min(packed ? said * 8 : said, count - filled)
    if (length === 0) throw new Error('an empty run of values')
    const step = packed ? width : 0
    for (let i = 0; i < length; i++) values[filled + i] = readBits(view, cursor.at * 8 + i * step, width)
    cursor.at += packed ? said * width : Math.ceil(width / 8)
    filled += length
  }
  return values
}

function readVarint(view: DataView, cursor: { at: number }): number {
  for (let value = 0, scale = 1; scale <= 2 ** 28; scale *= 128) {
    const byte = view.getUint8(cursor.at++)
    value += (byte & 127) * scale
    if (byte < 128) return value
  }
  throw new Error('a number that does not end')
}

function readBits(view: DataView, from: number, width: number): number {
  let value = 0
  for (let bit = 0; bit < width; bit++) {
    const at = from + bit
    if ((view.getUint8(at >>> 3) >>> (at & 7)) & 1) value += 2 ** bit
  }
  return value
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}
