import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import { readLines } from '../../lib/lines.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { inputFiles, recordFiles } from '../input-files.ts'
import { readAllRecords } from '../records/read-records.ts'
import type { RowRecord } from './messages.ts'
import { fileParts, ParquetRows } from './parquet-rows.ts'
import type { NumberedRow, RowSource } from './row-source.ts'

const parquet = /\.parquet$/i
const json = /\.(jsonl|ndjson)$/i
const table = /\.(csv|tsv|xlsx)$/i
/** A JSON list is only read if named explicitly, because folders contain other JSON files. */
const list = /\.json$/i

/**
 * The dataset files at a path: the file itself, those in a folder or its `data` folder, or those matching a glob. Empty
 * if it is not a dataset.
 */
export async function datasetFiles(path: string): Promise<readonly string[]> {
  const kind = await kindAt(path)
  if (kind === 'file') return [parquet, json, table, list].some((pattern) => pattern.test(path)) ? [path] : []
  if (kind === 'none' && isGlob(path)) return inputFiles(path, { ...recordFiles, what: 'conversations' })
  if (kind !== 'dir') return []
  for (const dir of [join(path, 'data'), path]) {
    if ((await kindAt(dir)) !== 'dir') continue
    const names = (await readdir(dir)).filter((name) => !name.startsWith('.')).sort()
    // The folder may hold the same rows in several formats.
    const chosen = [parquet, json, table].map((pattern) => names.filter((name) => pattern.test(name)))
    const files = chosen.find((each) => each.length > 0)
    if (files) return files.map((name) => join(dir, name))
  }
  return []
}

/** Opens any dataset: a file, a folder of files, or a glob. */
export async function openRows(path: string): Promise<RowSource> {
  const files = await datasetFiles(path)
  if (files.length > 0 && files.every((file) => parquet.test(file))) return new ParquetRows(await fileParts(files))
  if (files.length > 0 && files.every((file) => json.test(file))) return new JsonRows(files)
  if (files.length > 0) return new RecordRows(files)
  const kind = await kindAt(path)
  throw new UserError(
    `${path}: expected a dataset, found ${kind === 'none' ? 'nothing there' : kind === 'dir' ? 'a folder without one' : 'another file'}`,
    'pass a file that ends in .parquet, .jsonl, .json, .csv or .xlsx, or a folder of such files',
  )
}

/** Rows of files that are always read from the beginning: JSON lists, text tables, workbooks. */
class RecordRows implements RowSource {
  readonly total = null

  constructor(private readonly files: readonly string[]) {}

  async *scan(signal: AbortSignal): AsyncGenerator<NumberedRow, void, void> {
    let number = 0
    for await (const read of readAllRecords(this.files)) {
      signal.throwIfAborted()
      yield { number: number++, row: 'fields' in read ? read.fields : { system: `${read.where}: ${read.problem}` } }
    }
  }

  async read(wanted: number): Promise<RowRecord | null> {
    for await (const { number, row } of this.scan(new AbortController().signal)) if (number === wanted) return row
    return null
  }

  async close(): Promise<void> {}
}

interface Place {
  readonly file: string
  readonly at: number
  readonly end: number
}

/** Row numbers count lines; the position of every hundredth line is remembered. */
const stride = 100

/** Rows of files with one JSON object per line. Invalid UTF-8 becomes replacement characters. */
class JsonRows implements RowSource {
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
    // A file of something else is refused; one odd line among rows is shown as is.
    if (number > 0) return odd
    throw new UserError(
      `${file}: expected one JSON object per line, got something else`,
      'check that it is a JSON Lines file',
    )
  }
}

const odd: RowRecord = { system: 'This line is not a JSON object.' }

function rowOf(text: string): RowRecord | null {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RowRecord) : null
}
