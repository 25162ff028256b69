import { messageOf, UserError } from '../../core/errors.ts'
import { nearest } from '../../lib/nearest.ts'
import { jsonOrText } from '../../lib/parse-json.ts'
import { readYaml } from '../../lib/read-yaml.ts'
import { type KeyKind, megatronKeys, publishedVersions, trainingKeys } from './known-keys.ts'

/** Our own keys, which determine others and never reach the trainer. */
const planKeys: Readonly<Record<string, KeyKind>> = { global_batch_size: 'int' }

export type TrainingValues = Readonly<Record<string, unknown>>

/** Parses the values of a training file by key; an unknown key is a UserError with the closest known one. */
export function checkTrainingValues(values: TrainingValues, where: string): TrainingValues {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, checkValue(key, value, where)]))
}

/**
 * Parses a training file as YAML 1.2, in which `no` is a string and `.` a path; boolean keys still accept the old
 * words.
 */
export function parseTrainingFile(text: string, path: string): unknown {
  let values: unknown
  try {
    values = readYaml(text, { version: '1.2' })
  } catch (error) {
    throw new UserError(
      `${path}: expected YAML, got: ${messageOf(error).split('\n')[0]}`,
      'check its indentation and quotes',
    )
  }
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return values
  const meant = (key: string, value: unknown) =>
    Object.hasOwn(trainingKeys, key) && trainingKeys[key] === 'bool' && typeof value === 'string'
      ? switchOf(value)
      : value
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, meant(key, value)]))
}

function switchOf(word: string): unknown {
  return /^(yes|on|y)$/i.test(word) ? true : /^(no|off|n)$/i.test(word) ? false : word
}

/** Parses a value given as text, as on a command line. */
export function parseTrainingValue(key: string, text: string, where: string): unknown {
  const kind = kindOf(key, where)
  if (text === 'null' || text === 'none') return null
  if (kind === 'bool') return text === 'true' ? true : text === 'false' ? false : checkValue(key, text, where)
  if (kind === 'int' || kind === 'float') return checkValue(key, text.trim() === '' ? text : Number(text), where)
  if (kind === 'any') return jsonOrText(text)
  return checkValue(key, text, where)
}

function checkValue(key: string, value: unknown, where: string): unknown {
  const kind = kindOf(key, where)
  if (value === null || fits(kind, value)) return value
  const expected = typeof kind === 'string' ? words[kind] : `one of ${kind.join(', ')}`
  throw new UserError(
    `${where}: ${key}: expected ${expected}, got ${JSON.stringify(value)}`,
    'the names and kinds are those of LLaMA-Factory and of the trainer of transformers',
  )
}

const words = {
  int: 'a whole number',
  float: 'a number',
  bool: 'true or false',
  text: 'text',
  any: 'anything',
} as const

function fits(kind: KeyKind, value: unknown): boolean {
  if (kind === 'any') return true
  if (kind === 'int') return Number.isInteger(value)
  if (kind === 'float') return typeof value === 'number' && Number.isFinite(value)
  if (kind === 'bool') return typeof value === 'boolean'
  if (kind === 'text') return typeof value === 'string'
  return typeof value === 'string' && kind.includes(value)
}

function kindOf(key: string, where: string): KeyKind {
  const known = { ...trainingKeys, ...megatronKeys, ...planKeys }
  const kind = Object.hasOwn(known, key) ? known[key] : undefined
  if (kind !== undefined) return kind
  const near = nearest(key, Object.keys(known))
  throw new UserError(
    `${where}: unknown key ${JSON.stringify(key)}`,
    near === null
      ? `neither LLaMA-Factory ${publishedVersions.llamafactory} nor transformers ${publishedVersions.transformers} has this key`
      : `did you mean ${near}?`,
  )
}
