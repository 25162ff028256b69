import { basename } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { editTaskTomls } from '../../formats/harbor-task/edit.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { jsonOrText } from '../../lib/parse-json.ts'
import { explainDisk } from '../disk-errors.ts'

export interface EditRequest {
  /** A task, or a folder of tasks. */
  readonly path: string
  /** For example `agent.timeout_sec=900`: parsed as JSON if possible, else taken as text. */
  readonly set: readonly string[]
  /** Keys to remove. */
  readonly unset: readonly string[]
}

export interface EditedTasks {
  readonly tasks: readonly string[]
}

type Table = Record<string, unknown>

interface Change {
  readonly keys: readonly string[]
  /** Undefined removes the key. */
  readonly value: unknown
}

/** Changes keys of task.toml in every task, or in none if one of the files would become invalid. */
export async function editTasks({ path, set, unset }: EditRequest): Promise<EditedTasks> {
  const changes = [
    ...set.map(parseSetting),
    ...unset.map((key) => ({ keys: keysOf(key, '--unset'), value: undefined })),
  ]
  if (changes.length === 0)
    throw new UserError('expected a change, got none', 'for example --set agent.timeout_sec=900')
  const { tasks, broken } = await findTasks(path, { allowNoTests: true })
  const [first] = broken
  if (first) throw new UserError(`${first.dir}: ${first.reason}`, 'fix it first: either all tasks are changed, or none')
  const change = (table: Table) => changes.reduce((before, { keys, value }) => withValue(before, keys, value), table)
  await explainDisk(path, () => editTaskTomls(tasks, change))
  return { tasks: tasks.map((dir) => basename(dir)) }
}

function parseSetting(text: string): Change {
  const at = text.indexOf('=')
  if (at <= 0) throw new UserError(`--set ${text}: expected key=value`, 'for example --set agent.timeout_sec=900')
  return { keys: keysOf(text.slice(0, at), '--set'), value: jsonOrText(text.slice(at + 1)) }
}

function keysOf(path: string, flag: string): readonly string[] {
  const keys = path.split('.')
  if (keys.every((key) => /^[A-Za-z_][\w-]*$/.test(key) && !(key in {}))) return keys
  throw new UserError(`${flag} ${path}: expected a dotted key of task.toml`, 'for example agent.timeout_sec')
}

function withValue(table: Table, [key = '', ...rest]: readonly string[], value: unknown): Table {
  const { [key]: old, ...others } = table
  if (rest.length === 0) return value === undefined ? others : { ...table, [key]: value }
  const isTable = typeof old === 'object' && old !== null && !Array.isArray(old)
  if (old === undefined && value === undefined) return table
  if (old !== undefined && !isTable)
    throw new UserError(
      `${key}: expected a table to set ${rest.join('.')} in, found another value`,
      'set a key of a table',
    )
  return { ...table, [key]: withValue((old ?? {}) as Table, rest, value) }
}
