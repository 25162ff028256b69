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
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
