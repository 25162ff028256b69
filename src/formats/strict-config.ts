import { z } from 'zod'
import { UserError } from '../core/errors.ts'
import { nearest } from '../lib/nearest.ts'
import { parseConfig } from './harbor-job/read-config.ts'

/**
 * Parses a config file's document; every key must be known, and a UserError names the wrong one and suggests the right
 * one.
 */
export function parseStrict<T>(schema: z.ZodType<T>, document: unknown, path: string, hint: string): T {
  const { value, warnings } = parseConfig(schema, document, path, hint)
  const [unknownKey] = warnings
  if (!unknownKey) return value
  throw new UserError(`${path}: ${unknownKey.path} is not a known key`, keyHint(schema, unknownKey.path))
}

/** The likely intended key for an unknown one, such as `agents[0].nam`. */
export function keyHint(schema: z.ZodType, path: string): string {
  const at = path.lastIndexOf('.') + 1
  const keys = path
    .slice(0, at)
    .replaceAll(/\[\d+\]/g, '')
    .split('.')
    .filter(Boolean)
  const known = knownKeys(schema, keys)
  if (known.length === 0) return 'remove this key'
  const meant = nearest(path.slice(at), known)
  return meant === null ? `known keys: ${known.join(', ')}` : `did you mean ${path.slice(0, at)}${meant}?`
}

/** The keys of a document that a schema does not have, such as `agent.timeout_secs`; tables of free keys are left alone. */
export function unknownKeys(schema: unknown, document: unknown, at = ''): readonly string[] {
  const known = bare(schema)
  if (Array.isArray(document)) return document.flatMap((each, i) => unknownKeys(known, each, `${at}[${i}]`))
  if (!(known instanceof z.ZodObject) || typeof document !== 'object' || document === null) return []
  const shape: Readonly<Record<string, unknown>> = known.shape
  return Object.entries(document).flatMap(([key, value]) => {
    const path = at === '' ? key : `${at}.${key}`
    return Object.hasOwn(shape, key) ? unknownKeys(shape[key], value, path) : [path]
  })
}

/** A schema's keys at a path, looking through lists and wrappers such as optional and default. */
function knownKeys(schema: z.ZodType, path: readonly string[]): readonly string[] {
  let here: unknown = bare(schema)
  for (const key of path) {
    if (!(here instanceof z.ZodObject)) return []
    const shape: Readonly<Record<string, unknown>> = here.shape
    here = bare(Object.hasOwn(shape, key) ? shape[key] : undefined)
  }
  return here instanceof z.ZodObject ? Object.keys(here.shape) : []
}

function bare(schema: unknown): unknown {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  ) {
    return bare(schema.unwrap())
  }
  if (schema instanceof z.ZodArray) return bare(schema.element)
  return schema instanceof z.ZodPipe ? bare(schema.in) : schema
}
