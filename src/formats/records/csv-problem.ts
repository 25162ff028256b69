import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'
import { readLines } from '../../lib/lines.ts'
import { shellQuote } from '../../lib/shell.ts'

/** What is wrong with a CSV or TSV file, and how to fix it. */
export interface CsvProblem {
  readonly found: string
  readonly hint: string
}

const quote = 0x22

/** Looks for the usual faults of a table that cannot be read: text that is not UTF-8, a quote that is never closed, and rows with more values than the header. */
export async function findCsvProblem(path: string, separator: ',' | '\t'): Promise<CsvProblem | null> {
  let nth = 0
  let openedIn: number | null = null
  let columns: number | null = null
  let values = 1
  let long: CsvProblem | null = null
  for await (const { bytes } of readLines(path)) {
    nth++
    if (nth === 1 && isUtf16(bytes)) return { found: 'text in UTF-16', hint: convert(path, 'UTF-16') }
    if (!isUtf8(bytes)) return { found: `bytes in line ${nth} that are not UTF-8`, hint: convert(path, 'WINDOWS-1252') }
    const { state, separators } = scanLine(
      nth === 1 ? withoutMark(bytes) : bytes,
      separator.charCodeAt(0),
      openedIn !== null,
    )
    if (state === 'broken') return neverClosed(openedIn ?? nth)
    openedIn = state === 'open' ? (openedIn ?? nth) : null
    values += separators
    if (state === 'open') continue
    columns ??= values
    if (values > columns) long ??= tooLong(nth, values, columns)
    values = 1
  }
  return openedIn === null ? long : neverClosed(openedIn)
}

/**
 * Whether a quote is open at the end of a line, and how many separators are outside of quotes. Broken when a quote of an earlier line
 * closes in the middle of a value, as the next one does after one that was forgotten.
 */
function scanLine(
  bytes: Uint8Array,
  separator: number,
  isOpen: boolean,
): { readonly state: 'open' | 'closed' | 'broken'; readonly separators: number } {
  let open = isOpen
  let isOlder = isOpen
  let isBlank = true
  let separators = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) {
      if (!open) open = isBlank
      else if (bytes[at + 1] === quote) at++
      else if (isOlder && !isEnd(bytes[at + 1], separator)) return { state: 'broken', separators }
      else open = isOlder = false
    } else if (byte === separator && !open) separators++
    // A quote opens at the beginning of a value, also after spaces.
    isBlank = byte === separator || (isBlank && byte === 0x20)
  }
  return { state: open ? 'open' : 'closed', separators }
}

function isEnd(byte: number | undefined, separator: number): boolean {
  return byte === undefined || byte === separator || byte === 0x0d
}

function tooLong(line: number, values: number, columns: number): CsvProblem {
  return {
    found: `${values} values in line ${line} under a header of ${columns}`,
    hint: 'put quotes around a value that holds the separator',
  }
}

function neverClosed(line: number): CsvProblem {
  return {
    found: `a quote in line ${line} that is never closed`,
    hint: 'close it; inside a quoted value, write "" for a quote',
  }
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

function convert(path: string, from: string): string {
  return `convert it, for example: iconv -f ${from} -t UTF-8 ${shellQuote(path)} > utf8${extname(path)}`
}
