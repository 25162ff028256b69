import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet'
import { messageOf, UserError } from '../../core/errors.ts'
import { codeOf } from '../../lib/files.ts'
import { readLines } from '../../lib/lines.ts'
import { readJson } from '../../lib/parse-json.ts'
import { recordFiles, shortNames } from '../input-files.ts'
import { readParquetObjects } from '../task-parquet/read-objects.ts'
import { readCsv } from './read-csv.ts'
import { readXlsx } from './read-xlsx.ts'

/** One record of a file, or what is wrong with it. */
export type FileRow =
  | { readonly where: string; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly where: string; readonly problem: string }

/** Yields the records of a file according to its extension; only JSON lists and workbooks are read whole. */
export async function* readRecords(path: string): AsyncGenerator<FileRow, void, void> {
  if (/\.(jsonl|ndjson)(\.gz)?$/i.test(path)) yield* readJsonLines(path)
  else if (/\.json$/i.test(path)) yield* listed(parseList(await readText(path), path))
  else if (/\.[ct]sv$/i.test(path)) yield* listed(readCsv(path, /\.tsv$/i.test(path) ? '\t' : ','))
  else if (/\.parquet$/i.test(path)) yield* listed(readParquetRecords(path))
  else if (/\.xlsx$/i.test(path)) yield* listed(readXlsx(path))
  else
    throw new UserError(
      `${path}: expected a file that ends in ${recordFiles.endings}`,
      'rename the file, or convert it',
    )
}

/**
 * Yields the records of several files in turn; with more than one file, each location names its file. A table whose
 * columns differ from the first one's is a UserError before the first record.
 */
export async function* readAllRecords(files: readonly string[]): AsyncGenerator<FileRow, void, void> {
  const names = shortNames(files)
  if (files.length > 1) await checkColumns(files)
  for (const [i, file] of files.entries())
    for await (const row of readRecords(file))
      yield files.length === 1 ? row : { ...row, where: `${names[i]}, ${row.where}` }
}

/** Tables must agree in every column. JSON records may omit fields, so they only need one in common. */
async function checkColumns(files: readonly string[]): Promise<void> {
  let first: { readonly file: string; readonly columns: readonly string[] } | null = null
  for (const file of files) {
    const columns = await columnsOf(file)
    if (columns === null) continue
    if (first === null) first = { file, columns }
    const isLoose = [file, first.file].some((each) => /\.(json|jsonl|ndjson)(\.gz)?$/i.test(each))
    const { columns: expected } = first
    const missing = expected.filter((name) => !columns.includes(name))
    const added = columns.filter((name) => !expected.includes(name))
    if (isLoose ? missing.length < expected.length : missing.length + added.length === 0) continue
    const differs = [
      ...(missing.length > 0 ? [`no ${listedNames(missing)}`] : []),
      ...(added.length > 0 ? [`also ${listedNames(added)}`] : []),
    ]
    throw new UserError(
      `${file}: expected the columns of ${first.file}, found ${differs.join(', ')}`,
      'give the files the same columns, or choose some of them with a pattern',
    )
  }
}

async function columnsOf(file: string): Promise<readonly string[] | null> {
  for await (const row of readRecords(file)) if ('fields' in row) return Object.keys(row.fields)
  return null
}

function listedNames(names: readonly string[]): string {
  return names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) !== 'ERR_STRING_TOO_LONG') throw error
    throw new UserError(
      `${path}: expected at most 512 MB of JSON, got more`,
      'save it with one record per line, as .jsonl',
    )
  }
}

async function* readJsonLines(path: string): AsyncGenerator<FileRow, void, void> {
  let line = 0
  for await (const text of /\.gz$/i.test(path) ? readPackedLines(path) : textsOf(readLines(path))) {
    line++
    if (text.trim() !== '') yield asRow(text, `line ${line}`)
  }
}

async function* textsOf(lines: AsyncIterable<{ readonly text: string }>): AsyncGenerator<string, void, void> {
  for await (const { text } of lines) yield text
}

/** A compressed line may expand to any size. */
const mostLineBytes = 256 << 20

async function* readPackedLines(path: string): AsyncGenerator<string, void, void> {
  let rest: Buffer[] = []
  let held = 0
  const unpacked = createGunzip()
  // Ends each stream when the other ends: file errors are thrown below, and a reader that stops early closes the file.
  pipeline(createReadStream(path), unpacked).catch(() => {})
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      let used = 0
      for (let feed = chunk.indexOf(10); feed >= 0; feed = chunk.indexOf(10, used)) {
        yield Buffer.concat([...rest, chunk.subarray(used, feed)]).toString('utf8')
        ;[rest, held, used] = [[], 0, feed + 1]
      }
      rest.push(chunk.subarray(used))
      held += chunk.length - used
      if (held > mostLineBytes)
        throw new UserError(
          `${path}: expected lines of at most ${mostLineBytes} bytes, got more`,
          'check that it is JSON Lines',
        )
    }
  } catch (error) {
    if (error instanceof UserError || !/^(Z_|ERR_)/.test(codeOf(error) ?? '')) throw error
    throw new UserError(`${path}: expected a gzip file, got ${messageOf(error)}`, 'check that the file is complete')
  }
  if (held > 0) yield Buffer.concat(rest).toString('utf8')
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

/** A list of records, an object containing exactly one such list, or, as in many datasets, one record per line. */
function parseList(text: string, path: string): unknown[] {
  const value = parseWhole(text) ?? parseEachLine(text)
  if (value === null)
    throw new UserError(`${path}: expected JSON, got something else`, 'write a list of records, or one record per line')
  if (Array.isArray(value)) return value
  const lists = Object.values(Object(value)).filter((item) => Array.isArray(item))
  if (lists.length === 1) return lists[0] as unknown[]
  throw new UserError(
    `${path}: expected a JSON list of records, got something else`,
    'write a list, or one record per line as .jsonl',
  )
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

/** Yields the rows of any parquet file as records, in batches. */
async function* readParquetRecords(path: string): AsyncGenerator<Record<string, unknown>, void, void> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const rows = Number(metadata.num_rows)
    for (let rowStart = 0; rowStart < rows; rowStart += rowsAtOnce) {
      const rowEnd = Math.min(rows, rowStart + rowsAtOnce)
      yield* await readParquetObjects({ file, metadata, rowStart, rowEnd })
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${path}: expected a parquet file, got ${messageOf(error)}`, 'check that the file is complete')
  }
}
