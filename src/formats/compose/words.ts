import { z } from 'zod'
import { BoundaryError } from '../../core/errors.ts'

/** An error in a task's compose file: blamed on the task and not retried. */
export function composeError(path: string, what: string): BoundaryError {
  return new BoundaryError('task', `${path}: ${what}`, { code: 'UnsupportedEnvironmentError', retryable: false })
}

const scalar = z.union([z.string(), z.number(), z.boolean()])
const listSchema = z.array(scalar).transform((items) => items.map(String))
const mapSchema = z.record(z.string(), scalar.nullable())

/** Reads a list; a single word is a list of one. */
export function readList(value: unknown, fail: (what: string) => Error): string[] {
  if (value === undefined || value === null) return []
  const list = listSchema.safeParse(Array.isArray(value) ? value : [value])
  if (!list.success) throw fail('expected a list of words')
  return list.data
}

/**
 * Reads a map, or a list of `key=value`; a key without a value is dropped, because compose would take it from the host.
 */
export function readMap(value: unknown, fail: (what: string) => Error): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (Array.isArray(value)) {
    const pairs = readList(value, fail).filter((item) => item.includes('='))
    return Object.fromEntries(
      pairs.map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]),
    )
  }
  const map = mapSchema.safeParse(value)
  if (!map.success) throw fail('expected a map of words')
  return Object.fromEntries(
    Object.entries(map.data).flatMap(([key, item]) => (item === null ? [] : [[key, String(item)]])),
  )
}

/** Reads a command: a list of words, or a line split as a shell would, without other shell features. */
export function readCommand(value: unknown, fail: (what: string) => Error): string[] | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? splitWords(value, fail) : readList(value, fail)
}

const wordPattern = /(?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/g

function splitWords(line: string, fail: (what: string) => Error): string[] {
  const words = line.match(wordPattern) ?? []
  if (line.replaceAll(wordPattern, '').trim() !== '') throw fail('a quote is not closed')
  return words.map((word) =>
    word.replaceAll(
      /\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g,
      (_, escaped, double, single) => escaped ?? single ?? String(double).replaceAll(/\\(["\\$`])/g, '$1'),
    ),
  )
}
