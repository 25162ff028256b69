import { open } from 'node:fs/promises'
import { messageOf, UserError } from '../../core/errors.ts'

/** Limits for a workbook: beyond any of them it is refused before it can fill the memory. */
const most = { fileBytes: 256 << 20, unpackedBytes: 512 << 20, columns: 4096, cells: 50_000_000 }

/**
 * Yields the records of a workbook's first sheet; its first non-empty row names the fields. Formulas yield their saved
 * value, since nothing is calculated. Empty rows are skipped, and dates become ISO text.
 */
export async function* readXlsx(path: string): AsyncGenerator<Record<string, unknown>, void, void> {
  const bytes = await readWhole(path)
  checkSizes(bytes, path)
  const { streamXlsxRows } = await import('hucre/xlsx')
  let names: readonly string[] | null = null
  let cells = 0
  try {
    for await (const { values } of streamXlsxRows(bytes)) {
      if (values.length > most.columns) throw tooLarge(path, `a row of ${values.length} columns`)
      cells += values.length
      if (cells > most.cells) throw tooLarge(path, `more than ${most.cells} cells`)
      if (values.every((value) => value === null || value === '')) continue
      if (names === null) names = namesOf(values)
      else yield recordOf(names, values)
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw notWorkbook(path, messageOf(error))
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    if (size > most.fileBytes) throw tooLarge(path, `${size} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

const signatures = { end: Buffer.from('PK\u0005\u0006', 'latin1'), entry: 0x02014b50 }

/**
 * Adds up the stated sizes of a zip file's parts, since the reader stops at the stated size; a part without a size, or
 * with one over 32 bits, is refused.
 */
function checkSizes(bytes: Uint8Array, path: string): void {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = zip.lastIndexOf(signatures.end)
  if (end < 0 || end + 22 > zip.length) throw notWorkbook(path, 'a file that is not a zip file')
  const entries = zip.readUInt16LE(end + 10)
  let at = zip.readUInt32LE(end + 16)
  let total = 0
  for (let i = 0; i < entries; i++) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== signatures.entry) throw notWorkbook(path, 'a damaged zip file')
    const [packed, unpacked] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)]
    const statesNone = unpacked === 0 && (packed > 2 || (zip.readUInt16LE(at + 8) & 8) !== 0)
    if (statesNone || packed === 0xffffffff) throw notWorkbook(path, 'a zip file whose parts do not state their size')
    total += unpacked
    if (total > most.unpackedBytes) throw tooLarge(path, `${total} bytes or more when unpacked`)
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
}

function namesOf(values: readonly unknown[]): readonly string[] {
  const taken = new Set<string>()
  return values.map((value, i) => {
    const written = value === null || value === '' ? `column${i}` : String(plain(value)).trim()
    let name = written
    for (let n = 1; taken.has(name); n++) name = `${written}_${n}`
    taken.add(name)
    return name
  })
}

/** Cells beyond the header are named by number, as in the other kinds of tables. */
function recordOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const width = Math.max(names.length, values.length)
  const fields: [string, unknown][] = []
  for (let i = 0; i < width; i++) {
    const value = plain(values[i] ?? null)
    if (i < names.length || value !== null) fields.push([names[i] ?? `column${i}`, value])
  }
  return Object.fromEntries(fields)
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  return ['string', 'number', 'boolean'].includes(typeof value) ? value : null
}

function notWorkbook(path: string, found: string): UserError {
  return new UserError(`${path}: expected an .xlsx workbook, got ${found.slice(0, 200)}`, 'save it again, or as .csv')
}

function tooLarge(path: string, size: string): UserError {
  return new UserError(`${path}: expected a smaller workbook, got ${size}`, 'save its sheet as .csv')
}
