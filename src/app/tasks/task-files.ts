import { basename, resolve, sep } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { type UnpackedTasks, unpackTasks } from '../../formats/task-parquet/unpack-tasks.ts'
import { kindAt } from '../../lib/files.ts'
import { explainDisk } from '../disk-errors.ts'

export interface PackRequest {
  /** A task, or a folder of tasks. */
  readonly path: string
  /** The parquet file to write. */
  readonly out: string
}

export interface PackControl {
  readonly signal: AbortSignal
  /** Called for each folder that looks like a task but is not, before anything is packed. */
  onLeftOut(folder: LeftOut): void
  onProgress(done: { readonly tasks: number; readonly bytes: number }, total: number): void
}

/** A folder that looks like a task but is not. */
export interface LeftOut {
  readonly dir: string
  readonly reason: string
}

export interface PackedTasks {
  readonly tasks: number
  readonly bytes: number
  readonly leftOut: readonly LeftOut[]
}

/** Packs tasks into one parquet file; the same tasks give the same bytes. */
export async function packTaskFolder({ path, out }: PackRequest, control: PackControl): Promise<PackedTasks> {
  const { tasks, broken } = await findTasks(path, { allowNoTests: true })
  await checkOut(out, tasks)
  const leftOut = broken.map(({ dir, reason }) => ({ dir, reason }))
  for (const folder of leftOut) control.onLeftOut(folder)
  const [first] = leftOut
  if (first && tasks.length === 0)
    throw new UserError(`${first.dir}: ${first.reason}`, 'it contains no other task to pack')
  const entries = tasks.map((dir) => ({ path: basename(dir), dir }))
  const { signal } = control
  const packed = await explainDisk(out, () =>
    packTasks(entries, out, { signal, onProgress: (done) => control.onProgress(done, tasks.length) }),
  )
  return { ...packed, leftOut }
}

/** Rejects a directory or device, and a file inside a task, which would be packed into itself. */
async function checkOut(out: string, tasks: readonly string[]): Promise<void> {
  const there = await explainDisk(out, () => kindAt(out))
  if (there === 'dir') {
    throw new UserError(`--out: expected a file, got the directory ${out}`, 'give a file in it, such as tasks.parquet')
  }
  // It would be replaced, which no device and no pipe is for.
  if (there === 'other') throw new UserError(`--out: expected a file, got ${out}, which is not a file`, 'give a file')
  const inside = tasks.find((task) => resolve(out).startsWith(task + sep))
  if (inside)
    throw new UserError(
      `--out: expected a path outside the tasks, got ${out}, which is in ${inside}`,
      'choose another path',
    )
}

export type { UnpackedTasks } from '../../formats/task-parquet/unpack-tasks.ts'

export interface UnpackRequest {
  readonly file: string
  /** The folder for the tasks. */
  readonly out: string
  readonly onExist: 'error' | 'skip' | 'overwrite'
}

/** Unpacks the tasks of a parquet file. All of them are validated before the first is put in place. */
export async function unpackTaskFile(
  { file, out, onExist }: UnpackRequest,
  control: { readonly signal: AbortSignal; onProgress(done: number, total: number): void },
): Promise<UnpackedTasks> {
  return explainDisk(out, () => unpackTasks(file, out, { onExist, ...control }))
}
