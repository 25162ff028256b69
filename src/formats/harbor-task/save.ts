import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { instructionFile, stepDir, taskFileName } from '../../core/task-paths.ts'
import { codeOf } from '../../lib/files.ts'
import { AlreadyThere, makeDirWhole } from '../../lib/new-dir.ts'
import type { TaskSettings } from './environment.ts'
import { isInside } from './read.ts'
import { renderTaskToml } from './render.ts'

/** A task that is not on disk yet. */
export interface NewTask {
  readonly settings: TaskSettings
  /** The instruction, or one for each step by name. */
  readonly instruction: string | Readonly<Record<string, string>>
  /** All other files by path in the task; scripts (`.sh`) become executable. */
  readonly files: Readonly<Record<string, string | Uint8Array>>
}

/** Writes a new task directory; it appears whole or not at all, and never replaces anything. */
export async function saveTask(dir: string, task: NewTask): Promise<void> {
  await makeTaskDir(dir, (temporary) => writeTask(temporary, task))
}

/** Creates a directory with `fill`; an existing one, or an unwritable place, is a UserError. */
export async function makeTaskDir(dir: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  try {
    await makeDirWhole(dir, fill)
  } catch (error) {
    if (error instanceof AlreadyThere) {
      throw new UserError(
        `${dir}: expected a new path, but it already exists`,
        'choose another path, or move it elsewhere',
      )
    }
    if (error instanceof UserError || codeOf(error) === undefined) throw error
    throw new UserError(`${dir}: expected a writable path, got ${messageOf(error)}`, 'choose another path')
  }
}

/** Writes a task's files into an existing directory. */
export async function writeTask(dir: string, task: NewTask): Promise<void> {
  await writeTaskFile(dir, taskFileName, renderTaskToml(task.settings))
  if (typeof task.instruction === 'string') await writeTaskFile(dir, 'instruction.md', task.instruction)
  else {
    for (const [step, text] of Object.entries(task.instruction)) {
      await writeTaskFile(dir, instructionFile(stepDir('', step)), text)
    }
  }
  for (const [path, data] of Object.entries(task.files)) await writeTaskFile(dir, path, data)
}

async function writeTaskFile(dir: string, path: string, data: string | Uint8Array): Promise<void> {
  const target = join(dir, path)
  if (!isInside(resolve(dir), resolve(target))) throw new Error(`${path} would leave the task`)
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, data)
  // Use chmod, because the umask limits the mode given to writeFile.
  if (path.endsWith('.sh')) await chmod(target, 0o755)
}
