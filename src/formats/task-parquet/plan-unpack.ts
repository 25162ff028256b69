import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { isMissing } from '../../lib/files.ts'
import type { TaskRows } from './read-rows.ts'
import { parseTaskPath } from './task-path.ts'

export type OnExist = 'error' | 'skip' | 'overwrite'

export interface PlannedTask {
  readonly path: string
  readonly action: 'add' | 'skip' | 'replace'
}

export interface UnpackPlan {
  /** One for each row of the file, in order. */
  readonly tasks: readonly PlannedTask[]
  readonly outExists: boolean
}

/** Checks every row's path before anything is written, and decides what to do with it. */
export async function planTasks(rows: TaskRows, file: string, outDir: string, onExist: OnExist): Promise<UnpackPlan> {
  const paths = await readPaths(rows, file)
  const outExists = await isDir(outDir)
  const tasks: PlannedTask[] = []
  const parents = new Map<string, boolean>()
  for (const path of paths) {
    const there =
      outExists && (await parentExists(outDir, path, parents)) && (await kindOf(join(outDir, path))) !== 'missing'
    if (there && onExist === 'error') {
      throw new UserError(
        `${join(outDir, path)} exists already`,
        'choose another --out, or pass --on-exist skip or overwrite',
      )
    }
    tasks.push({ path, action: !there ? 'add' : onExist === 'skip' ? 'skip' : 'replace' })
  }
  return { tasks, outExists }
}

async function readPaths(rows: TaskRows, file: string): Promise<string[]> {
  const rowOf = new Map<string, number>()
  for await (const text of rows.paths()) {
    const row = rowOf.size
    const path = parseTaskPath(text, `${file}: row ${row}`)
    const twin = rowOf.get(path)
    if (twin !== undefined) throw clash(file, row, path, twin)
    rowOf.set(path, row)
  }
  for (const [path, row] of rowOf) {
    const outer = ancestorsOf(path).find((ancestor) => rowOf.has(ancestor))
    if (outer !== undefined) throw clash(file, row, path, rowOf.get(outer) ?? row)
  }
  return [...rowOf.keys()]
}

function clash(file: string, row: number, path: string, other: number): UserError {
  return new UserError(
    `${file}: row ${row} has the path ${JSON.stringify(path)}, which row ${other} claims`,
    'expected each task in a directory of its own',
  )
}

/** For `a/b/c` these are `a` and `a/b`. */
function ancestorsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'))
}

/** Whether a task's parent directory exists; anything else in its place, a link above all, is refused. */
async function parentExists(outDir: string, path: string, known: Map<string, boolean>): Promise<boolean> {
  for (const ancestor of ancestorsOf(path)) {
    const there = known.get(ancestor) ?? (await isRealDir(join(outDir, ancestor)))
    known.set(ancestor, there)
    if (!there) return false
  }
  return true
}

async function isRealDir(path: string): Promise<boolean> {
  const kind = await kindOf(path)
  if (kind === 'other')
    throw new UserError(
      `${path} is not a directory`,
      'tasks are written into it; move it elsewhere or choose another --out',
    )
  return kind === 'dir'
}

/** The output directory itself may be a link, because the user chose it. */
async function isDir(path: string): Promise<boolean> {
  if ((await kindOf(path)) === 'missing') return false
  if ((await stat(path)).isDirectory()) return true
  throw new UserError(`${path} is not a directory`, 'expected a directory to unpack into')
}

async function kindOf(path: string): Promise<'dir' | 'other' | 'missing'> {
  try {
    return (await lstat(path)).isDirectory() ? 'dir' : 'other'
  } catch (error) {
    if (isMissing(error)) return 'missing'
    throw error
  }
}
