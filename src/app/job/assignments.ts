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
