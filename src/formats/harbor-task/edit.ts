import { join } from 'node:path'
import { stringify } from 'smol-toml'
import { UserError } from '../../core/errors.ts'
import { taskFileName } from '../../core/task-paths.ts'
import { writeAtomic } from '../../lib/files.ts'
import { parseTaskToml, parseToml } from './parse.ts'
import { readTaskText } from './read.ts'

type Table = Record<string, unknown>

/** Changes the task.toml of all these tasks, or of none if one would become invalid; comments are lost. */
export async function editTaskTomls(dirs: readonly string[], change: (table: Table) => Table): Promise<void> {
  const edited: { readonly path: string; readonly text: string }[] = []
  for (const dir of dirs) {
    const path = join(dir, taskFileName)
    const before = await readTaskText(dir, path)
    if (before === null) throw new UserError(`${path}: expected a task.toml, found none`, 'pass folders of tasks')
    const text = `${stringify(change(parseToml(before, path))).trim()}\n`
    parseTaskToml(text, path)
    edited.push({ path, text })
  }
  for (const { path, text } of edited) await writeAtomic(path, text)
}
