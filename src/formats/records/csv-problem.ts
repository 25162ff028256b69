import { isUtf8 } from 'node:buffer'
import { readLines } from '../../lib/lines.ts'
import { shellQuote } from '../../lib/shell.ts'

/** What is wrong with a file of comma- or tab-separated text, and what to do about it. */
export interface CsvProblem {
  readonly found: string
  readonly hint: string
}

/** Looks for the usual faults of a table that cannot be read: text that is not UTF-8, and a quote that is never closed. */
export async function findCsvProblem(path: string): Promise<CsvProblem | null> {
  let nth = 0
  let openedIn: number | null = null
  for await (const { bytes } of readLines(path)) {
    nth++
    if (!isUtf8(bytes)) {
      const converts = `iconv -f WINDOWS-1252 -t UTF-8 ${shellQuote(path)} > utf8.csv`
      return { found: `bytes in line ${nth} that are not UTF-8`, hint: `convert it, for example: ${converts}` }
    }
    for (const byte of bytes) if (byte === 0x22) openedIn = openedIn === null ? nth : null
  }
  if (openedIn === null) return null
  return {
    found: `a quote in line ${openedIn} that is never closed`,
    hint: 'close it; inside a text, write "" for a quote',
  }
}
