import { parse, TomlError } from 'smol-toml'
import { UserError } from '../../core/errors.ts'
import { isTooDeep } from '../../lib/parse-json.ts'
import type { TaskSettings } from './environment.ts'
import { toSettings } from './from-toml.ts'
import { refuseIn, refuseIssue, taskTomlSchema } from './schema.ts'

/** Parses a task.toml; `file` is its name in messages. */
export function parseTaskToml(text: string, file: string): TaskSettings {
  const raw = parseToml(text, file)
  const refuse = refuseIn(file)
  const parsed = taskTomlSchema.safeParse(raw)
  return parsed.success ? toSettings(parsed.data, refuse) : refuseIssue(parsed.error, raw, refuse)
}

/** Limits nesting: a key with a thousand dots makes a thousand tables. */
function shallow<T>(tables: T, file: string): T {
  if (!isTooDeep(tables)) return tables
  throw new UserError(`${file}: expected tables, got some that are nested too deeply`, 'use shorter names')
}

/** Parses TOML; a syntax error is a UserError with line and column. */
export function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return shallow(parse(text, { integersAsBigInt: 'asNeeded', maxDepth: 100 }), file)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const reason = error.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '')
    throw new UserError(
      `${file}:${error.line}:${error.column}: expected TOML, got a syntax error: ${reason}`,
      `correct line ${error.line} of ${file}`,
    )
  }
}
