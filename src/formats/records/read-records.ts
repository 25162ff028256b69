import { readFile } from 'node:fs/promises'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { messageOf, UserError } from '../../core/errors.ts'
import { readLines } from '../../lib/lines.ts'
import { readJson } from '../../lib/parse-json.ts'
import { compressors } from '../task-parquet/read-column.ts'
import { parseCsv } from './csv.ts'

/** One record of a file, or what is wrong with it. */
export type FileRow =
  | { readonly where: string; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly where: string; readonly problem: string }

/** The records of a file, by its ending; only JSON lines and parquet are read piece by piece. */
export async function* readRecords(path: string): AsyncGenerator<FileRow, void, void> {
  if (/\.(jsonl|ndjson)$/i.test(path)) yield* readJsonLines(path)
  else if (/\.json$/i.test(path)) yield* listed(parseList(await readFile(path, 'utf8'), path))
  else if (/\.[ct]sv$/i.test(path))
    yield* listed(parseCsv(await readFile(path, 'utf8'), /\.tsv$/i.test(path) ? '\t' : ','))
  else if (/\.parquet$/i.test(path)) yield* listed(readParquetRecords(path))
  else
    throw new UserError(
      `${path}: expected a file that ends in .jsonl, .json, .csv, .tsv or .parquet`,
      'rename the file, or convert it',
    )
}

async function* readJsonLines(path: string): AsyncGenerator<FileRow, void, void> {
  let line = 0
  for await (const { text } of readLines(path)) {
    line++
    if (text.trim() !== '') yield asRow(text, `line ${line}`)
  }
}

function asRow(text: string, where: string): FileRow {
  try {
    return record(readJson(text), where)
  } catch (error) {
    return { where, problem: `expected JSON, got ${messageOf(error)}` }
  }
}

async function* listed(values: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<FileRow, void, void> {
  let nth = 0
  for await (const value of values) yield record(value, `record ${++nth}`)
}

function record(value: unknown, where: string): FileRow {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { where, fields: { ...value } }
  return { where, problem: 'expected a record with fields, got something else' }
}

/** A list of records, an object that holds exactly one such list, or, as many datasets spell it, a record a line. */
function parseList(text: string, path: string): unknown[] {
  const value = parseWhole(text) ?? parseEachLine(text)
  if (value === null)
    throw new UserError(`${path}: expected JSON, got something else`, 'a list of records, or one record a line')
  if (Array.isArray(value)) return value
  const lists = Object.values(Object(value)).filter((item) => Array.isArray(item))
  if (lists.length === 1) return lists[0] as unknown[]
  throw new UserError(`${path}: expected a JSON list of records, got something else`, 'or one record a line, as .jsonl')
}

function parseWhole(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return null
  }
}

function parseEachLine(text: string): unknown[] | null {
  const values = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [parseWhole(line)]))
  return values.length > 1 && !values.includes(null) ? values : null
}

const rowsAtOnce = 1000

/** The rows of any parquet file as records, in batches. */
async function* readParquetRecords(path: string): AsyncGenerator<Record<string, unknown>, void, void> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const rows = Number(metadata.num_rows)
    for (let rowStart = 0; rowStart < rows; rowStart += rowsAtOnce) {
      const rowEnd = Math.min(rows, rowStart + rowsAtOnce)
      yield* await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors })
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${path}: expected a parquet file, got ${messageOf(error)}`, 'is it whole?')
  }
}
