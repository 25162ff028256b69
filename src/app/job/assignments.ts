import { UserError } from '../../core/errors.ts'
import { jsonOrText } from '../../lib/parse-json.ts'

/** A value on the command line, read as Harbor reads it: JSON, then Python's True, False and None, else text. */
export function parseValue(text: string): unknown {
  if (text === 'True' || text === 'False') return text === 'True'
  return text === 'None' ? null : jsonOrText(text)
}

/** Splits `key=value`; the value may hold more equals signs. */
export function parseAssignment(option: string, text: string): readonly [key: string, value: string] {
  const split = text.indexOf('=')
  if (split > 0) return [text.slice(0, split), text.slice(split + 1)]
  throw new UserError(`${option}: expected KEY=VALUE, got ${JSON.stringify(text)}`, `for example: ${option} name=value`)
}

/** `--ak a=1 --ak b=x` as an object of parsed values. */
export function parsedAssignments(option: string, texts: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    texts.map((text) => parseAssignment(option, text)).map(([key, value]) => [key, parseValue(value)]),
  )
}

/** `--ae A=1` as an object of texts. */
export function textAssignments(option: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => parseAssignment(option, text)))
}

/** `agents[0].kwargs.x` or `agents.0.kwargs.x` as the keys on the way. */
export function parsePath(option: string, path: string): string[] {
  const keys = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  if (keys.every((key) => key !== '' && key !== '__proto__')) return keys
  throw new UserError(
    `${option}: expected keys such as agents[0].kwargs.name, got ${JSON.stringify(path)}`,
    'write keys with dots between them',
  )
}

/** Sets one value deep inside a document, making what is missing on the way. */
export function setAt(document: Record<string, unknown>, keys: readonly string[], value: unknown): void {
  let place: object = document
  for (const [i, key] of keys.slice(0, -1).entries()) {
    const inner: unknown = Reflect.get(place, key)
    if (typeof inner === 'object' && inner !== null) {
      place = inner
      continue
    }
    const made = /^\d+$/.test(keys[i + 1] ?? '') ? [] : {}
    Reflect.set(place, key, made)
    place = made
  }
  Reflect.set(place, keys.at(-1) ?? '', value)
}
