import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AsyncBuffer, parquetMetadataAsync, type RowGroup } from 'hyparquet'
import { messageOf, UserError } from '../../core/errors.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { DatasetRows } from '../hub/dataset-rows.ts'
import type { RepoFile } from '../hub/repository.ts'
import { readParquetObjects } from '../task-parquet/read-objects.ts'
import type { DataRow } from './recognize.ts'

/** Sampled rows of a dataset, and what is known about the rest. */
export interface RowSample {
  readonly rows: readonly DataRow[]
  /** Null if counting would require reading everything over the network. */
  readonly total: number | null
  /** `any`: sampled from all rows. `first`: from the beginning, which may differ from the rest. */
  readonly drawn: 'any' | 'first'
}

/** File extensions whose rows can be sampled. */
export const dataFile = /\.(parquet|jsonl|ndjson|json|csv|tsv)$/i

/** At most this much of a Hub file is fetched for sampling. */
const peekLimitBytes = 64 * 1024 * 1024

/** Samples rows from local files, the same ones each time; all files are read, but little is kept. */
export async function sampleFiles(paths: readonly string[], count: number): Promise<RowSample> {
  const sql = await SqlDatabase.open({ memoryMb: 2048, threads: 2, tempDir: join(tmpdir(), 'ot-agent-sample') })
  try {
    const found: { rows: DataRow[]; total: number }[] = []
    const each = Math.max(1, Math.ceil(count / paths.length))
    for (const path of paths) found.push(await sampleFile(sql, path, each))
    return {
      rows: found.flatMap(({ rows }) => rows).slice(0, count),
      total: found.reduce((sum, { total }) => sum + total, 0),
      drawn: 'any',
    }
  } finally {
    await sql[Symbol.asyncDispose]()
  }
}

async function sampleFile(sql: SqlDatabase, path: string, count: number): Promise<{ rows: DataRow[]; total: number }> {
  const table = tableOf(path)
  try {
    const total = await sql.number(`SELECT count(*) FROM ${table.from}`)
    const sample = `SELECT * FROM ${table.from} USING SAMPLE reservoir(${count} ROWS) REPEATABLE (42)`
    const rows = await sql.rows(`SELECT ${table.row}::VARCHAR AS row FROM (${sample}) t`)
    return { rows: rows.map(({ row }) => asRow(readJson(String(row)), path)), total }
  } catch (error) {
    if (error instanceof UserError) throw error
    const [why = ''] = messageOf(error).split('\n')
    throw new UserError(
      `${path}: expected rows, got ${why.slice(0, 300)}`,
      'check that the file is complete and matches its extension',
    )
  }
}

/** JSON rows are left as text, because the database would change their types. */
function tableOf(path: string): { readonly from: string; readonly row: string } {
  const name = sqlText(path)
  const objects = (format: string) =>
    `read_json_objects(${name}, format = '${format}', maximum_object_size = ${1 << 28})`
  if (/\.parquet$/i.test(path)) return { from: `read_parquet(${name})`, row: 'to_json(t)' }
  if (/\.(jsonl|ndjson)$/i.test(path)) return { from: objects('newline_delimited'), row: 't.json' }
  if (/\.json$/i.test(path)) return { from: objects('auto'), row: 't.json' }
  if (/\.[ct]sv$/i.test(path)) return { from: `read_csv(${name}, all_varchar = true)`, row: 'to_json(t)' }
  throw new UserError(
    `${path}: expected a dataset that ends in .parquet, .jsonl, .json, .csv or .tsv`,
    'or a folder of such files',
  )
}

function listOf(value: unknown): DataRow[] {
  return Array.isArray(value) ? value : []
}

function asRow(value: unknown, where: string): DataRow {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as DataRow
  throw new UserError(
    `${where}: expected records with named fields, got something else`,
    'one JSON object for each row',
  )
}

/** The first rows of a Hub dataset, fetching no more than needed. */
export async function peekRows({ repository, commit, files }: DatasetRows, count: number): Promise<RowSample> {
  const [file] = files
  if (file === undefined) return { rows: [], total: null, drawn: 'first' }
  const read = (fromByte: number, toByte: number) =>
    readRange(repository.read(commit, file.path, fromByte), fromByte, toByte)
  const where = `${repository.name}/${file.path}`
  const rows = /\.parquet$/i.test(file.path)
    ? await peekParquet(file, read, count)
    : await peekText(file, read, count, where)
  return { rows, total: null, drawn: 'first' }
}

type ReadRange = (fromByte: number, toByte: number) => Promise<Buffer>

async function peekParquet(file: RepoFile, read: ReadRange, count: number): Promise<DataRow[]> {
  const buffer: AsyncBuffer = {
    byteLength: file.sizeBytes,
    slice: async (start, end = file.sizeBytes) => {
      const bytes = await read(start, Math.min(end, file.sizeBytes))
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
    },
  }
  const metadata = await parquetMetadataAsync(buffer)
  const [group] = metadata.row_groups
  // A row group is read whole, so rows in huge groups are skipped.
  if (group === undefined || Number(group.total_compressed_size ?? group.total_byte_size) > peekLimitBytes) return []
  const rowEnd = Math.min(count, Number(group.num_rows))
  return readParquetObjects({ file: await withRange(buffer, bytesOf(group)), metadata, rowStart: 0, rowEnd })
}

interface ByteRange {
  readonly from: number
  readonly to: number
}

function bytesOf({ columns }: RowGroup): ByteRange {
  const ranges = columns.flatMap(({ meta_data: meta }) => {
    if (meta === undefined) return []
    const from = Number(meta.dictionary_page_offset || meta.data_page_offset)
    return [{ from, to: from + Number(meta.total_compressed_size) }]
  })
  return { from: Math.min(...ranges.map(({ from }) => from)), to: Math.max(...ranges.map(({ to }) => to)) }
}

/** The same file with a range in memory: its pages are read one by one, and each read would be a request. */
async function withRange(file: AsyncBuffer, { from, to }: ByteRange): Promise<AsyncBuffer> {
  if (!(from >= 0 && to <= file.byteLength && to - from <= peekLimitBytes))
    throw new Error('a column extends past the end of the file')
  const bytes = await file.slice(from, to)
  return {
    byteLength: file.byteLength,
    slice: async (start, end = file.byteLength) =>
      start >= from && end <= to ? bytes.slice(start - from, end - from) : file.slice(start, end),
  }
}

/** The complete lines of a JSON-lines file; a JSON list only if it is small. */
async function peekText(file: RepoFile, read: ReadRange, count: number, where: string): Promise<DataRow[]> {
  const isList = /\.json$/i.test(file.path)
  if (!isList && !/\.(jsonl|ndjson)$/i.test(file.path)) return []
  if (isList && file.sizeBytes > peekLimitBytes) return []
  const text = (await read(0, Math.min(file.sizeBytes, isList ? peekLimitBytes : peekLimitBytes / 16))).toString('utf8')
  try {
    if (isList && text.trimStart().startsWith('[')) return listOf(readJson(text)).slice(0, count)
    const lines = text.split('\n')
    if (file.sizeBytes > Buffer.byteLength(text)) lines.pop()
    return lines
      .filter((line) => line.trim() !== '')
      .slice(0, count)
      .map((line) => asRow(readJson(line), where))
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${where}: expected JSON, got ${messageOf(error).slice(0, 200)}`,
      'check that the dataset is complete',
    )
  }
}

async function readRange(
  opened: Promise<{ readonly fromByte: number; readonly body: AsyncIterable<Uint8Array> }>,
  fromByte: number,
  toByte: number,
): Promise<Buffer> {
  const { fromByte: at, body } = await opened
  const chunks: Uint8Array[] = []
  let seen = at
  for await (const chunk of body) {
    seen += chunk.length
    chunks.push(chunk)
    if (seen >= toByte) break
  }
  return Buffer.concat(chunks).subarray(fromByte - at, toByte - at)
}
