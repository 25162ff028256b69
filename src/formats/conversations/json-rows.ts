import { UserError } from '../../core/errors.ts'
import { readLines } from '../../lib/lines.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { RowRecord } from './messages.ts'
import type { NumberedRow, RowSource } from './row-source.ts'

interface Place {
  readonly file: string
  readonly at: number
  readonly end: number
}

/** A row number counts lines; which bytes of which file a line is, is remembered for every hundredth. */
const stride = 100

/** Rows of files with one JSON object a line. Bytes that are no UTF-8 become replacement characters. */
export class JsonRows implements RowSource {
  readonly total = null
  private readonly places: Place[] = []

  constructor(private readonly files: readonly string[]) {}

  async *scan(signal: AbortSignal): AsyncGenerator<NumberedRow, void, void> {
    let number = 0
    for (const file of this.files) {
      let isFirst = true
      for await (const { at, end, text } of readLines(file)) {
        signal.throwIfAborted()
        if (isFirst || number % stride === 0) this.places[number] = { file, at, end }
        isFirst = false
        if (text.trim() !== '') yield { number, row: rowOf(text) ?? this.refuse(file, number) }
        number++
      }
    }
  }

  async read(number: number): Promise<RowRecord | null> {
    let from = number
    while (from > 0 && this.places[from] === undefined) from--
    const start = this.places[from]
    if (start === undefined) return this.readFromStart(number)
    let at = from
    for await (const { text } of readLines(start.file, start.at))
      if (at++ === number) return text.trim() === '' ? null : (rowOf(text) ?? odd)
    return null
  }

  async close(): Promise<void> {}

  private async readFromStart(wanted: number): Promise<RowRecord | null> {
    for await (const { number, row } of this.scan(new AbortController().signal)) if (number === wanted) return row
    return null
  }

  private refuse(file: string, number: number): RowRecord {
    // A file of other things is refused; one odd line among rows is shown as what it is.
    if (number > 0) return odd
    throw new UserError(`${file}: expected one JSON object a line, got something else`, 'is it a JSON lines file?')
  }
}

const odd: RowRecord = { system: 'This line is not a JSON object.' }

function rowOf(text: string): RowRecord | null {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RowRecord) : null
}
