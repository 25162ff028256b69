import { UserError } from '../../core/errors.ts'
import { nearest } from '../../lib/nearest.ts'
import { readJson } from '../../lib/parse-json.ts'
import facts from './known-keys.json' with { type: 'json' }

type Classes = Readonly<Record<string, Readonly<Record<string, string>>>>

/** SkyRL's configuration classes: each key with its kind, or the class it leads to. `dict` accepts arbitrary keys. */
const skyrlClasses: Classes = facts.classes

const skyrlRoot = facts.root

/** One dotted setting of SkyRL. */
export interface Override {
  /** For example `trainer.algorithm.eps_clip_low`. */
  readonly key: string
  readonly value: unknown
}

/** Parses `key=value` from a command line: the value is parsed as JSON if possible, else taken as text. */
export function parseOverride(text: string, where: string): Override {
  const at = text.indexOf('=')
  if (at <= 0)
    throw new UserError(`${where}: expected key=value, got ${JSON.stringify(text)}`, 'for example trainer.epochs=3')
  const value = text.slice(at + 1)
  try {
    return { key: text.slice(0, at), value: readJson(value) }
  } catch {
    return { key: text.slice(0, at), value }
  }
}

/**
 * Refuses a key that SkyRL does not know, or a value of the wrong kind. Keys in the `free` groups belong to the entry
 * point.
 */
export function checkOverride({ key, value }: Override, where: string, free: readonly string[] = []): void {
  if (key.startsWith('+'))
    throw new UserError(
      `${where}: expected a key without a leading +, got ${key}`,
      "remove the +; a group of the entry point's own settings is named in the preset's own_groups",
    )
  if (free.some((name) => key === name || key.startsWith(`${name}.`))) return
  const kind = kindOf(key, where)
  if (fits(kind, value)) return
  throw new UserError(
    `${where}: ${key}: expected ${kind}, got ${JSON.stringify(value)}`,
    'the kinds are those of SkyRL',
  )
}

function kindOf(key: string, where: string): string {
  let group = skyrlClasses[skyrlRoot] ?? {}
  const parts = key.split('.')
  for (const [i, part] of parts.entries()) {
    const kind = Object.hasOwn(group, part) ? group[part] : undefined
    if (kind === undefined) throw unknown(key, { above: parts.slice(0, i), part, known: Object.keys(group) }, where)
    if (kind === 'dict') return 'any'
    if (i === parts.length - 1) return Object.hasOwn(skyrlClasses, kind) ? 'a group of settings' : kind
    if (!Object.hasOwn(skyrlClasses, kind))
      throw unknown(key, { above: parts.slice(0, i + 1), part: parts[i + 1] ?? '', known: [] }, where)
    group = skyrlClasses[kind] ?? {}
  }
  return 'any'
}

interface UnknownPart {
  readonly above: readonly string[]
  readonly part: string
  readonly known: readonly string[]
}

function unknown(key: string, { above, part, known }: UnknownPart, where: string): UserError {
  const near = nearest(part, known)
  return new UserError(
    `${where}: SkyRL has no ${JSON.stringify(key)}`,
    near === null
      ? `${above.join('.') || 'its top level'} has ${known.slice(0, 8).join(', ') || 'nothing below it'}; own_groups of a preset names other groups`
      : `did you mean ${[...above, near].join('.')}?`,
  )
}

function fits(kind: string, value: unknown): boolean {
  if (value === null || kind === 'any') return true
  if (kind === 'int') return Number.isInteger(value)
  if (kind === 'float') return typeof value === 'number'
  if (kind === 'bool') return typeof value === 'boolean'
  if (kind === 'text') return typeof value !== 'object'
  if (kind === 'list') return Array.isArray(value)
  return kind === 'dict' && typeof value === 'object'
}

/** Renders a setting as one command-line argument; the value is YAML, as SkyRL expects. */
export function renderOverride({ key, value }: Override): string {
  return `${key}=${renderValue(value)}`
}

function renderValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `[${value.map(renderValue).join(',')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value as object)
      .map(([key, each]) => `${key}: ${renderValue(each)}`)
      .join(', ')}}`
  if (typeof value !== 'string') return String(value)
  const isPlain =
    /^[A-Za-z_/][\w./-]*(:[\w./-]+)*$/.test(value) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
  return isPlain ? value : JSON.stringify(value)
}
