import { mkdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { exists } from '../../lib/files.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { unpackTasks } from '../task-parquet/unpack-tasks.ts'
import {
  type DownloadOptions,
  digestSnapshot,
  downloadSnapshot,
  narrowed,
  putInPlace,
  recordIn,
  type Snapshot,
  writeRecord,
} from './download.ts'

/** How a dataset stores its tasks, and in which files. */
export interface TaskFiles {
  readonly kind: 'parquet' | 'folders'
  readonly snapshot: Snapshot
}

/** Finds a dataset's tasks: packed in parquet files (all, or the named one), or as folders with a task.toml. */
export function chooseTaskFiles(snapshot: Snapshot, parquetName: string | null): TaskFiles {
  const parquet = chooseParquet(snapshot, parquetName)
  if (parquet.files.length > 0) return { kind: 'parquet', snapshot: parquet }
  const roots = snapshot.files
    .filter(({ path }) => basename(path) === taskFileName)
    .map(({ path }) => dirname(path))
    .filter((root) => root !== '.')
  if (roots.length === 0)
    throw new UserError(
      `${snapshot.repository.name}: expected parquet files of tasks, or folders with a ${taskFileName}, found neither in ${snapshot.files.length} files`,
      'check the name and --revision',
    )
  const within = new Set(roots)
  const isOfTask = (path: string): boolean => {
    const parent = dirname(path)
    return parent !== '.' && (within.has(parent) || isOfTask(parent))
  }
  const parents = new Set(roots.map((root) => dirname(root)))
  const [parent = '.'] = parents
  const below = parents.size === 1 && parent !== '.' ? { below: parent } : {}
  return { kind: 'folders', snapshot: { ...narrowed(snapshot, ({ path }) => isOfTask(path)), ...below } }
}

/** The parquet files of a dataset; a name is a full path, or its last part. */
export function chooseParquet(snapshot: Snapshot, name: string | null): Snapshot {
  const all = narrowed(snapshot, ({ path }) => path.endsWith('.parquet'))
  if (name === null) return all
  const exact = narrowed(all, ({ path }) => path === name)
  const found = exact.files.length > 0 ? exact : narrowed(all, ({ path }) => basename(path) === name)
  if (found.files.length === 1) return found
  const known = all.files.map(({ path }) => path)
  throw new UserError(
    `--parquet-name: expected one parquet file of ${snapshot.repository.name}, got ${JSON.stringify(name)}, which names ${found.files.length}`,
    `it has ${known.slice(0, 8).join(', ') || 'none'}${known.length > 8 ? ', ...' : ''}`,
  )
}

export interface DownloadedTasks {
  readonly wasThere: boolean
  /** Duplicate tasks across files; the first one wins. */
  readonly repeated: number
}

/** Downloads tasks into a folder that appears whole or not at all; after an interruption, the same command resumes. */
export async function downloadTasks(
  chosen: TaskFiles,
  out: string,
  options: DownloadOptions,
): Promise<DownloadedTasks> {
  const { kind, snapshot } = chosen
  if (kind === 'folders') return { wasThere: await downloadSnapshot(snapshot, out, options), repeated: 0 }
  const target = resolve(out)
  const digest = digestSnapshot(snapshot)
  if ((await exists(target)) && !options.overwrite) {
    if ((await recordIn(target)) === digest) return { wasThere: true, repeated: 0 }
    throw new UserError(
      `${out}: expected a new path, but it already exists`,
      'choose another folder, or add --overwrite',
    )
  }
  const packed = join(dirname(target), `.${basename(target)}.packed`)
  const fresh = join(dirname(target), `.${basename(target)}.unpacked`)
  await downloadSnapshot(snapshot, packed, { ...options, overwrite: true })
  await removeTree(fresh)
  await mkdir(fresh, { recursive: true })
  let repeated = 0
  for (const { path } of snapshot.files)
    repeated += (await unpackTasks(join(packed, path), fresh, { onExist: 'skip', signal: options.signal })).skipped
  await writeRecord(fresh, digest, snapshot)
  await putInPlace(fresh, target)
  await removeTree(packed)
  return { wasThere: false, repeated }
}
