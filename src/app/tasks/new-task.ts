import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { isTaskName } from '../../formats/harbor-task/from-toml.ts'
import { saveTask } from '../../formats/harbor-task/save.ts'
import { type StarterOptions, starterTask } from '../../formats/harbor-task/starter.ts'

export interface NewTaskRequest extends Omit<StarterOptions, 'name'> {
  /** `name`, or `org/name`. */
  readonly name: string
  readonly org?: string | undefined
  /** Folder to write the task into. */
  readonly path: string
}

/** Writes a small working task, to adapt. */
export async function writeNewTask({ name: given, org: option, path, ...options }: NewTaskRequest) {
  const { org, name } = parseName(given, option)
  const dir = join(path, name)
  const task = starterTask({ ...(org !== undefined && { name: `${org}/${name}` }), ...options })
  await saveTask(dir, task)
  return { name: task.settings.name ?? name, dir }
}

function parseName(given: string, option: string | undefined): { org: string | undefined; name: string } {
  const [name = '', fromName, ...rest] = given.split('/').reverse()
  const org = fromName ?? option
  if (fromName !== undefined && option !== undefined && fromName !== option) {
    throw new UserError(`expected one organization, got ${given} and --org ${option}`, 'remove --org')
  }
  if (rest.length > 0 || !isTaskName(`${org ?? 'org'}/${name}`)) {
    throw new UserError(
      `expected a task name of letters, digits, ".", "_" and "-", got ${JSON.stringify(option === undefined ? given : `${option}/${given}`)}`,
      'for example: ot-agent tasks init count-words --org my-lab',
    )
  }
  return { org, name }
}
