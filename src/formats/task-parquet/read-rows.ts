import { type FileHandle, open } from 'node:fs/promises'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync } from 'hyparquet'
import { getSchemaPath, isFlatColumn } from 'hyparquet/src/schema.js'
import { messageOf, UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import { inputFiles, packedTaskFiles, standsForFiles } from '../input-files.ts'
import type { Value } from './decode-page.ts'
import { type ColumnChunk, canDecompress, readColumn } from './read-column.ts'

const columns = ['path', 'task_binary'] as const
type ColumnName = (typeof columns)[number]

/** Open parquet files of tasks; any problem with one is a UserError that names the file. */
export interface TaskRows extends AsyncDisposable {
  readonly rows: number
  /** The unchecked `path` of every row. */
  paths(): AsyncGenerator<string, void, void>
  /** The `task_binary` of every row. */
  archives(): AsyncGenerator<Uint8Array, void, void>
  /** The `task_binary` of one row; reads only its row group. */
  archive(row: number): Promise<Uint8Array>
}

/** Opens a parquet file of tasks, or all those in a folder or glob as if they were one, sorted by name. */
export async function openTaskRows(path: string): Promise<TaskRows> {
  if (!(await standsForFiles(path))) return openTaskFile(path)
  const opened: TaskRows[] = []
  try {
    for (const file of await inputFiles(path, packedTaskFiles)) opened.push(await openTaskFile(file))
  } catch (error) {
    for (const rows of opened) await rows[Symbol.asyncDispose]()
    throw error
  }
  return joined(opened)
}

function joined(parts: readonly TaskRows[]): TaskRows {
  return {
    rows: parts.reduce((sum, { rows }) => sum + rows, 0),
    async *paths() {
      for (const part of parts) yield* part.paths()
    },
    async *archives() {
      for (const part of parts) yield* part.archives()
    },
    async archive(row) {
      let before = 0
      for (const part of parts) {
        if (row < before + part.rows) return part.archive(row - before)
        before += part.rows
      }
      throw new UserError(`expected a row ${row}, got ${before} rows`, 'the files have changed')
    },
    async [Symbol.asyncDispose]() {
      for (const part of parts) await part[Symbol.asyncDispose]()
    },
  }
}

async function openTaskFile(path: string): Promise<TaskRows> {
  const file = await openFile(path)
  try {
    const metadata = await readMetadata(file, path)
    const groups = metadata.row_groups.map((_, index) => findChunks(metadata, index, path))
    return {
      rows: groups.reduce((sum, group) => sum + group.path.rows, 0),
      paths: () => readValues({ file, path, groups }, 'path', asText),
      archives: () => readValues({ file, path, groups }, 'task_binary', asBytes),
      archive: (row) => readOne({ file, path, groups }, row),
      [Symbol.asyncDispose]: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r')
    if ((await file.stat()).isFile()) return file
    await file.close()
    throw new UserError(`${path} is not a file`, 'expected a parquet file, as `ot-agent tasks pack` writes it')
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${path} does not exist`, 'expected a parquet file, as `ot-agent tasks pack` writes it')
  }
}

async function readMetadata(file: FileHandle, path: string): Promise<FileMetaData> {
  const buffer: AsyncBuffer = {
    byteLength: (await file.stat()).size,
    slice: async (start, end = buffer.byteLength) => {
      const bytes = new ArrayBuffer(end - start)
      await file.read(new Uint8Array(bytes), 0, bytes.byteLength, start)
      return bytes
    },
  }
  try {
    const metadata = await parquetMetadataAsync(buffer)
    checkColumns(metadata, path)
    return metadata
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${path} is not a parquet file: ${messageOf(error)}`,
      'expected a parquet file, as `ot-agent tasks pack` writes it',
    )
  }
}

function checkColumns(metadata: FileMetaData, path: string): void {
  const found = getSchemaPath(metadata.schema, []).at(-1)?.children ?? []
  for (const name of columns) {
    const column = found.find((child) => child.element.name === name)
    const listed = found.map((child) => child.element.name).join(', ') || 'none'
    if (!column)
      throw new UserError(
        `${path} has no column ${name}`,
        `expected the columns path and task_binary, found: ${listed}`,
      )
    if (column.element.type !== 'BYTE_ARRAY' || !isFlatColumn(getSchemaPath(metadata.schema, [name]))) {
      throw new UserError(
        `${path}: column ${name} is of another type`,
        `expected ${name === 'path' ? 'text' : 'bytes'}`,
      )
    }
  }
}

function findChunks(metadata: FileMetaData, index: number, path: string): Record<ColumnName, ColumnChunk> {
  const group = metadata.row_groups[index]
  const find = (name: ColumnName): ColumnChunk => {
    const meta = group?.columns.find((column) => column.meta_data?.path_in_schema.join('.') === name)?.meta_data
    if (!meta || !group) throw new UserError(`${path}: row group ${index} has no column ${name}`, 'the file is damaged')
    if (!canDecompress(meta.codec)) {
      throw new UserError(
        `${path}: column ${name} is compressed with ${meta.codec}`,
        'compress it with snappy, zstd, gzip or brotli, or not at all',
      )
    }
    const element = getSchemaPath(metadata.schema, [name]).at(-1)?.element
    return { meta, nullable: element?.repetition_type !== 'REQUIRED', rows: Number(group.num_rows) }
  }
  return { path: find('path'), task_binary: find('task_binary') }
}

interface OpenParquet {
  readonly file: FileHandle
  readonly path: string
  readonly groups: readonly Record<ColumnName, ColumnChunk>[]
}

async function* readValues<T>(
  { file, path, groups }: OpenParquet,
  name: ColumnName,
  parse: (value: Value) => T | null,
): AsyncGenerator<T, void, void> {
  let row = 0
  try {
    for (const group of groups) {
      for await (const value of readColumn(file, group[name])) {
        const parsed = parse(value)
        if (parsed === null)
          throw new UserError(
            `${path}: row ${row} has no ${name === 'path' ? 'readable path' : name}`,
            `expected ${name === 'path' ? 'text' : 'bytes'} in every row`,
          )
        row++
        yield parsed
      }
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${path}: column ${name} cannot be read from row ${row} on: ${messageOf(error)}`,
      'the file is damaged, or of an unsupported kind',
    )
  }
}

async function readOne({ file, path, groups }: OpenParquet, row: number): Promise<Uint8Array> {
  let before = 0
  for (const group of groups) {
    const { rows } = group.path
    if (row >= before + rows) before += rows
    else {
      let at = before
      for await (const archive of readValues({ file, path, groups: [group] }, 'task_binary', asBytes))
        if (at++ === row) return archive
    }
  }
  throw new UserError(`${path}: expected a row ${row}, got ${before} rows`, 'the file has changed')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function asText(value: Value): string | null {
  try {
    return value && utf8.decode(value)
  } catch {
    return null
  }
}

function asBytes(value: Value): Value {
  return value
}
