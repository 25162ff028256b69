import type { ZodObject, ZodType } from 'zod'
import { UserError } from '../../core/errors.ts'
import { jsonOrText } from '../../lib/parse-json.ts'

/** How a pipeline option's value is written on a command line. */
export type OptionKind = 'flag' | 'number' | 'list' | 'text' | 'json'

/** How a schema's value is written on a command line. */
export function kindOf(schema: ZodType): OptionKind {
  const {
    type,
    innerType,
    in: input,
  } = schema.def as {
    readonly type: string
    readonly innerType?: ZodType
    readonly in?: ZodType
  }
  const inner = innerType ?? input
  if (inner) return kindOf(inner)
  if (type === 'boolean') return 'flag'
  if (type === 'number' || type === 'int') return 'number'
  if (type === 'array') return 'list'
  return type === 'string' || type === 'enum' || type === 'literal' ? 'text' : 'json'
}

/** A pipeline's own options by name. */
export function ownOptions(schema: ZodObject | undefined): readonly (readonly [name: string, schema: ZodType])[] {
  return Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name))
      throw new UserError(
        `option ${JSON.stringify(name)}: expected a name in camelCase such as maxRows`,
        'maxRows becomes --max-rows on the command line',
      )
    return [name, field as ZodType] as const
  })
}

/** Parses option values with their schemas; strings come from a command line, other values from a program. */
export function parseOwnOptions(
  schema: ZodObject | undefined,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = ownOptions(schema).map(([name, field]) => {
    const raw = given[name]
    const parsed = field.safeParse(typeof raw === 'string' ? fromText(raw, kindOf(field)) : raw)
    if (parsed.success) return [name, parsed.data] as const
    const expected = parsed.error.issues[0]?.message ?? 'another value'
    throw new UserError(
      `${flagOf(name)}: ${expected}, got ${raw === undefined ? 'nothing' : JSON.stringify(raw)}`,
      '--help lists its options',
    )
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** `maxRows` is `--max-rows`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function fromText(text: string, kind: OptionKind): unknown {
  if (kind === 'number') return text.trim() === '' ? text : Number(text)
  if (kind === 'list') return text.split(',').map((part) => part.trim())
  return kind === 'text' ? text : jsonOrText(text)
}
