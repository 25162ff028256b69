import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { toSettings } from './from-toml.ts'
import { type Refuse, refuseIn } from './refuse.ts'
import { taskTomlSchema } from './schema.ts'
import type { TaskSettings } from './settings.ts'

/** Reads the text of a task.toml; `file` is how messages name it. */
export function parseTaskToml(text: string, file: string): TaskSettings {
  const raw = parseToml(text, file)
  const refuse = refuseIn(file)
  const parsed = taskTomlSchema.safeParse(raw)
  return parsed.success ? toSettings(parsed.data, refuse) : refuseIssue(parsed.error, raw, refuse)
}

/** The tables of a TOML text; a syntax error is the user's, with line and column. */
export function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const reason = error.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '')
    throw new UserError(
      `${file}:${error.line}:${error.column}: expected TOML, got a syntax error: ${reason}`,
      `correct line ${error.line} of ${file}`,
    )
  }
}

function refuseIssue(error: z.ZodError, raw: unknown, refuse: Refuse): never {
  const issue = error.issues[0]
  const path = issue?.path ?? []
  return refuse(keyOf(path) || 'the file', issue?.message ?? 'a task', valueAt(raw, path))
}

/** `steps[1].agent.timeout_sec`. */
function keyOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, part) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, part)
    return inside ? (value as Record<PropertyKey, unknown>)[part] : undefined
  }, raw)
}
