/** Bytes of a tar block: headers are one, contents are padded to whole ones. */
export const blockBytes = 512

/** Thrown when an archive, or a tree to archive, is damaged or refused, as opposed to a failed disk or stream. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}

/** `other`: a type that must not be unpacked, for example a sparse file. */
export type TarKind = 'file' | 'dir' | 'symlink' | 'hardlink' | 'device' | 'fifo' | 'other'

export interface TarHeader {
  readonly name: string
  readonly kind: TarKind
  readonly mode: number
  /** Bytes of content that follow; 0 for everything but files. */
  readonly size: number
  /** Where a link points; empty for everything else. */
  readonly link: string
  /** Seconds since 1970; 0 unless a reader must see the time. */
  readonly modifiedSec?: number
}

/** A raw header block, before extended headers are applied to it. */
export interface RawHeader {
  readonly name: Uint8Array
  readonly link: Uint8Array
  readonly flag: string
  readonly mode: number
  readonly size: number
}

const flags: Readonly<Record<string, TarKind>> = {
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'device',
  '4': 'device',
  '5': 'dir',
  '6': 'fifo',
}

/** What a type flag stands for. */
export function kindOf(flag: string): TarKind {
  return Object.hasOwn(flags, flag) ? (flags[flag] ?? 'other') : 'other'
}

const largestOctalSize = 8 ** 11 - 1

/**
 * The header blocks of one entry: starts with a pax header if plain ustar is not enough. No owner, and no time unless
 * given: equal entries give equal bytes.
 */
export function renderHeader(header: TarHeader): Uint8Array {
  const { name, link, mode, size, modifiedSec } = header
  const records: [string, string][] = []
  if (!fitsUstar(name)) records.push(['path', name])
  if (link !== '' && !fitsUstar(link)) records.push(['linkpath', link])
  if (size > largestOctalSize) records.push(['size', String(size)])
  const flag = header.kind === 'dir' ? '5' : header.kind === 'symlink' ? '2' : '0'
  const block = renderBlock({ name, link, flag, mode, size: size > largestOctalSize ? 0 : size, modifiedSec })
  if (records.length === 0) return block
  const body = Buffer.from(records.map(([key, value]) => renderPaxRecord(key, value)).join(''))
  const before = renderBlock({ name: 'PaxHeader', link: '', flag: 'x', mode: 0o644, size: body.length })
  return Buffer.concat([before, body, new Uint8Array(paddingOf(body.length)), block])
}

/** How many zero bytes follow `size` bytes of content. */
export function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes
}

function fitsUstar(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: plain ustar fields are ASCII; everything else goes to a pax header.
  return text.length <= 100 && /^[\x01-\x7f]*$/.test(text)
}

interface BlockFields {
  readonly name: string
  readonly link: string
  readonly flag: string
  readonly mode: number
  readonly size: number
  readonly modifiedSec?: number | undefined
}

function renderBlock(fields: BlockFields): Uint8Array {
  const block = Buffer.from(blankBlock)
  block.write(asciiOf(fields.name), 0, 100, 'latin1')
  block.write(octal(fields.mode, 7), 100, 'latin1')
  block.write(octal(fields.size, 11), 124, 'latin1')
  if (fields.modifiedSec !== undefined) block.write(octal(fields.modifiedSec, 11), 136, 'latin1')
  block.write(fields.flag, 156, 'latin1')
  if (fields.link !== '') block.write(asciiOf(fields.link), 157, 100, 'latin1')
  block.write(`${octal(sumOf(block), 6)}\0 `, 148, 'latin1')
  return block
}

/** What all headers have in common: no owner, and no time unless one is given. */
const blankBlock = Buffer.alloc(blockBytes)
blankBlock.write(octal(0, 7), 108, 'latin1')
blankBlock.write(octal(0, 7), 116, 'latin1')
blankBlock.write(octal(0, 11), 136, 'latin1')
blankBlock.write('ustar\x0000', 257, 'latin1')

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

/** Only readers that ignore pax headers ever see this form of a name. */
function asciiOf(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '_')
}

/** `LENGTH key=value\n`, where the length counts its own digits. */
function renderPaxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (String(length).length !== String(rest).length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}

/** The sum of a header block's bytes with its checksum field read as spaces. */
function sumOf(block: Uint8Array): number {
  let sum = 8 * 0x20
  for (let i = 0; i < 148; i++) sum += block[i] ?? 0
  for (let i = 156; i < blockBytes; i++) sum += block[i] ?? 0
  return sum
}

/** Reads one header block; null for the zero block that ends an archive. */
export function parseHeader(block: Uint8Array): RawHeader | null {
  if (block[0] === 0 && block.every((byte) => byte === 0)) return null
  if (plainOctal(block, 148, 156) !== sumOf(block) && !hasRightSum(block)) {
    throw new ArchiveError('a header has a wrong checksum: this is not a tar archive, or it is damaged')
  }
  const hasPrefix = block[345] !== 0 && Buffer.from(block.subarray(257, 263)).toString('latin1') === 'ustar\0'
  const prefix = hasPrefix ? upToNul(block.subarray(345, 500)) : new Uint8Array()
  const name = upToNul(block.subarray(0, 100))
  return {
    name: prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name,
    link: upToNul(block.subarray(157, 257)),
    flag: String.fromCharCode(block[156] ?? 0),
    mode: plainOctal(block, 100, 108) ?? parseNumber(block.subarray(100, 108), 'mode'),
    size: plainOctal(block, 124, 136) ?? parseNumber(block.subarray(124, 136), 'size'),
  }
}

/** Some writers put spaces around the digits. */
function hasRightSum(block: Uint8Array): boolean {
  const checksum = Buffer.from(upToNul(block.subarray(148, 156))).toString('latin1')
  return /^ *[0-7]+ *$/.test(checksum) && Number.parseInt(checksum, 8) === sumOf(block)
}

/** The number in a field in the usual form: octal digits, then a NUL. Null for any other field. */
export function plainOctal(block: Uint8Array, start: number, end: number): number | null {
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = (block[at] ?? 0) - 0x30
    if (digit >= 0 && digit < 8) value = value * 8 + digit
    else return digit === -0x30 && at > start ? value : null
  }
  return null
}

/** The bytes before the first NUL, or all of them. */
export function upToNul(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** Octal digits, or GNU's big-endian form for numbers that octal cannot hold. */
function parseNumber(field: Uint8Array, what: string): number {
  if (field[0] === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0)
    if (!Number.isSafeInteger(value)) throw new ArchiveError(`a header has an impossible ${what}`)
    return value
  }
  const text = Buffer.from(upToNul(field)).toString('latin1').trim()
  if (!/^[0-7]*$/.test(text)) throw new ArchiveError(`a header has an unreadable ${what}: ${JSON.stringify(text)}`)
  return text === '' ? 0 : Number.parseInt(text, 8)
}

/** The `key=value` records of a pax extended header, as bytes because a value need not be text. */
export function parsePax(body: Uint8Array): Map<string, Uint8Array> {
  const records = new Map<string, Uint8Array>()
  for (let start = 0; start < body.length; ) {
    const space = body.indexOf(0x20, start)
    const length = space < 0 ? Number.NaN : Number(Buffer.from(body.subarray(start, space)).toString('latin1'))
    const equals = body.indexOf(0x3d, space)
    const end = start + length
    if (
      !Number.isInteger(length) ||
      length < 5 ||
      end > body.length ||
      equals < 0 ||
      equals >= end ||
      body[end - 1] !== 0x0a
    ) {
      throw new ArchiveError('an extended header is damaged')
    }
    records.set(Buffer.from(body.subarray(space + 1, equals)).toString('utf8'), body.subarray(equals + 1, end - 1))
    start = end
  }
  return records
}
