import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { UserError } from '../../core/errors.ts'
import { draftBeside, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { ArchiveError, packDirToBytes } from '../../lib/tar.ts'
import { parseTaskPath } from './task-path.ts'

/** A task directory and its name: its path relative to the folder of tasks. */
export interface TaskToPack {
  readonly path: string
  readonly dir: string
  /** Makes its archive, if that is not simply the packed directory. */
  readonly archive?: () => Promise<Uint8Array>
}

export interface PackedTasks {
  readonly tasks: number
  /** Total size of the archives, which is nearly the file's own size. */
  readonly bytes: number
}

export interface PackTasksOptions {
  /** Called after each task is written. */
  readonly onProgress?: (done: PackedTasks) => void
  readonly signal?: AbortSignal
}

/** A row group is written once it holds this much; a reader needs about twice that in memory. */
const groupBytes = 8 << 20
/** Parquet stores a page's size in 31 bits. */
const archiveLimitBytes = 2 ** 30
const tasksAtOnce = 4

/**
 * Writes tasks to a parquet file with the columns `path` and `task_binary` (a reproducible tar.gz of the directory).
 * The file appears whole or not at all; memory holds a few tasks and one row group, however many there are.
 */
export async function packTasks(
  tasks: AsyncIterable<TaskToPack> | Iterable<TaskToPack>,
  outFile: string,
  options: PackTasksOptions = {},
): Promise<PackedTasks> {
  await mkdir(dirname(outFile), { recursive: true })
  const temporary = draftBeside(outFile)
  const file = await open(temporary, 'wx', 0o644)
  try {
    const done = await writeRows(tasks, new RowWriter(file), options)
    await file.sync()
    await renameDraft(temporary, outFile)
    return done
  } finally {
    await file.close()
    await removeDraft(temporary)
  }
}

async function writeRows(
  tasks: AsyncIterable<TaskToPack> | Iterable<TaskToPack>,
  rows: RowWriter,
  options: PackTasksOptions,
): Promise<PackedTasks> {
  const seen = new Set<string>()
  let done: PackedTasks = { tasks: 0, bytes: 0 }
  for await (const { path, archive } of mapInOrder(tasks, tasksAtOnce, packTask)) {
    if (seen.has(path))
      throw new UserError(`two tasks have the path ${JSON.stringify(path)}`, 'a path may be used once in a file')
    seen.add(path)
    options.signal?.throwIfAborted()
    await rows.add(path, archive)
    done = { tasks: done.tasks + 1, bytes: done.bytes + archive.length }
    options.onProgress?.(done)
  }
  await rows.finish()
  return done
}

async function packTask(task: TaskToPack): Promise<{ path: string; archive: Uint8Array }> {
  const path = parseTaskPath(task.path, `task ${JSON.stringify(task.dir)}`)
  try {
    const archive = await (task.archive?.() ?? packDirToBytes(task.dir, { blocking: true }))
    if (archive.length <= archiveLimitBytes) return { path, archive }
    throw new ArchiveError(`its archive has ${archive.length} bytes, and parquet takes ${archiveLimitBytes}`)
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error
    throw new UserError(`${task.dir}: ${error.message}`, 'a packed task holds plain files and directories only')
  }
}

const schema = [
  { name: 'schema', num_children: 2 },
  {
    name: 'path',
    type: 'BYTE_ARRAY',
    repetition_type: 'REQUIRED',
    converted_type: 'UTF8',
    logical_type: { type: 'STRING' },
  },
  { name: 'task_binary', type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' },
] satisfies ConstructorParameters<typeof ParquetWriter>[0]['schema']

/** Collects rows into row groups and writes each when it is full. */
class RowWriter {
  readonly #parquet: ParquetWriter
  #paths: string[] = []
  #archives: Uint8Array[] = []
  #waiting = 0

  constructor(file: FileHandle) {
    const writer = new ByteWriter()
    const flush = async () => {
      await file.writeFile(new Uint8Array(writer.buffer, 0, writer.index))
      writer.index = 0
    }
    Object.assign(writer, { flush, finish: flush })
    // The archives are already compressed, and min/max statistics on them are meaningless.
    this.#parquet = new ParquetWriter({ writer, schema, codec: 'UNCOMPRESSED', statistics: false })
  }

  async add(path: string, archive: Uint8Array): Promise<void> {
    this.#paths.push(path)
    this.#archives.push(archive)
    this.#waiting += archive.length
    if (this.#waiting >= groupBytes) await this.#writeGroup()
  }

  async finish(): Promise<void> {
    await this.#writeGroup()
    await this.#parquet.finish()
  }

  async #writeGroup(): Promise<void> {
    if (this.#paths.length === 0) return
    const columnData = [
      { name: 'path', data: this.#paths, encoding: 'PLAIN' as const },
      { name: 'task_binary', data: this.#archives, encoding: 'PLAIN' as const },
    ]
    await this.#parquet.write({ columnData, rowGroupSize: this.#paths.length })
    this.#paths = []
    this.#archives = []
    this.#waiting = 0
  }
}
