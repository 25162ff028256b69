import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'
import { readLines } from '../../lib/lines.ts'
import { shellQuote } from '../../lib/shell.ts'

/** What is wrong with a file of comma- or tab-separated text, and what to do about it. */
export interface CsvProblem {
  readonly found: string
  readonly hint: string
}

const quote = 0x22

/** Looks for the usual faults of a table that cannot be read: text that is not UTF-8, and a quote that is never closed. */
export async function findCsvProblem(path: string, separator: ',' | '\t'): Promise<CsvProblem | null> {
  let nth = 0
  let openedIn: number | null = null
  for await (const { bytes } of readLines(path)) {
    nth++
    if (nth === 1 && isUtf16(bytes)) return { found: 'text in UTF-16', hint: convert(path, 'UTF-16') }
    if (!isUtf8(bytes)) return { found: `bytes in line ${nth} that are not UTF-8`, hint: convert(path, 'WINDOWS-1252') }
    const state = scanLine(bytes, separator.charCodeAt(0), openedIn !== null)
    if (state === 'broken') return neverClosed(openedIn ?? nth)
    openedIn = state === 'open' ? (openedIn ?? nth) : null
  }
  return openedIn === null ? null : neverClosed(openedIn)
}

/** Whether a quote is open at the end of a line; broken when one closes in the middle of a value, as the next one does after one that was forgotten. */
function scanLine(bytes: Uint8Array, separator: number, isOpen: boolean): 'open' | 'closed' | 'broken' {
  let open = isOpen
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== quote) continue
    if (!open) open = at === 0 || bytes[at - 1] === separator
    else if (bytes[at + 1] === quote) at++
    else if (at + 1 === bytes.length || bytes[at + 1] === separator || bytes[at + 1] === 0x0d) open = false
    else return 'broken'
  }
  return open ? 'open' : 'closed'
}

function neverClosed(line: number): CsvProblem {
  return {
    found: `a quote in line ${line} that is never closed`,
    hint: 'close it; inside a text, write "" for a quote',
  }
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
}

function convert(path: string, from: string): string {
  return `convert it, for example: iconv -f ${from} -t UTF-8 ${shellQuote(path)} > utf8${extname(path)}`
}
