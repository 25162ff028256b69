import type { z } from 'zod'
import { UserError } from '../../core/errors.ts'

/** Says that one key of task.toml is wrong: what was expected, then what came. Never returns. */
export type Refuse = (key: string, expected: string, got: unknown, hint?: string) => never

/** A `Refuse` for one file. */
export function refuseIn(file: string): Refuse {
  return (key, expected, got, hint) => {
    throw new UserError(`${file}: ${key}: expected ${expected}, got ${show(got)}`, hint ?? `correct ${key} in ${file}`)
  }
}

/** A value short enough for one line of a message. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  // JSON has no way to write these.
  const bare = typeof value === 'bigint' || typeof value === 'number'
  const text = bare ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** Refuses the first thing a schema found wrong in `raw`; the schema's messages say what was expected. */
export function refuseIssue(error: z.ZodError, raw: unknown, refuse: Refuse): never {
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
