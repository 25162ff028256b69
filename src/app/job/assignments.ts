import { UserError } from '../../core/errors.ts'
import { jsonOrText } from '../../lib/parse-json.ts'

/** Parses a command-line value as Harbor does: as JSON, then as Python's True, False or None, else as text. */
export function parseValue(text: string): unknown {
  if (text === 'True' || text === 'False') return text === 'True'
  return text === 'None' ? null : jsonOrText(text)
}

/** Splits `key=value`; the value may contain more equals signs. */
export function parseAssignment(option: string, text: string): readonly [key: string, value: string] {
  const split = text.indexOf('=')
  if (split > 0) return [text.slice(0, split), text.slice(split + 1)]
  throw new UserError(`${option}: expected KEY=VALUE, got ${JSON.stringify(text)}`, `for example: ${option} name=value`)
}

/** Turns `--ak a=1 --ak b=x` into an object of parsed values. */
export function parsedAssignments(option: string, texts: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    texts.map((text) => parseAssignment(option, text)).map(([key, value]) => [key, parseValue(value)]),
  )
}

/** Turns `--ae A=1` into an object of strings. */
export function textAssignments(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => parseAssignment(option, text)))
}

/** A number in brackets, which creates a list if there is none yet; any other key is a string. */
export type PathKey = string | number

/** Splits `agents[0].kwargs.x` or `agents.0.kwargs.x` into keys. */
export function parsePath(option: string, path: string): PathKey[] {
  const keys = path.replaceAll(/\[(\d+)\]/g, '.[$1]').split('.')
  if (keys.every((key) => key !== '' && key !== '__proto__'))
    return keys.map((key) => (/^\[\d+\]$/.test(key) ? Number(key.slice(1, -1)) : key))
  throw new UserError(
    `${option}: expected keys such as agents[0].kwargs.name, got ${JSON.stringify(path)}`,
    'separate keys with dots',
  )
}

/** Sets a value deep inside a document, creating missing parents. */
export function setAt(
  document: Record<string, unknown>,
  keys: readonly PathKey[],
  value: unknown,
  option = '--set',
): void {
  let place: object = document
  for (const [i, key] of keys.entries()) {
    if (Array.isArray(place)) refuseNoPosition(place, keys.slice(0, i + 1), option)
    if (i === keys.length - 1) {
      Reflect.set(place, key, value)
      return
    }
    const inner: unknown = Reflect.get(place, key)
    const known = typeof inner === 'object' && inner !== null
    const next: object = known ? inner : typeof keys[i + 1] === 'number' ? [] : {}
    if (!known) Reflect.set(place, key, next)
    place = next
  }
}

/** Rejects keys that are no position in a list: JSON and YAML drop them, and cannot write lists with holes. */
function refuseNoPosition(list: readonly unknown[], keys: readonly PathKey[], option: string): void {
  const key = String(keys.at(-1))
  if (/^(0|[1-9]\d*)$/.test(key) && Number(key) <= list.length) return
  throw new UserError(
    `${option}: ${keys.slice(0, -1).join('.')}: expected a position from 0 to ${list.length} in this list, got ${JSON.stringify(key)}`,
    'use a position in that range, or set the whole list as JSON',
  )
}
