import type { ZodObject, ZodType } from 'zod'
import { jsonOrText } from '../lib/parse-json.ts'
import { InputValidationError } from './errors.ts'

/** An option of a pipeline: on the command line `maxRows` is spelt `--max-rows`. */
export interface Argument {
  readonly name: string
  readonly schema: ZodType
  readonly help: string
}

/** What a pipeline adds to the options that every pipeline has. */
export class Arguments {
  readonly #all = new Map<string, Argument>()

  /** Adds an option; its schema says what it takes and its default. */
  add(name: string, schema: ZodType, help = schema.description ?? ''): this {
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name))
      throw new InputValidationError(
        `option ${JSON.stringify(name)}: expected a name such as maxRows, got another`,
        'it becomes --max-rows on the command line',
      )
    this.#all.set(name, { name, schema, help })
    return this
  }

  /** Adds every key of a schema as an option. */
  addAll(schema: ZodObject): this {
    for (const [name, field] of Object.entries(schema.shape)) this.add(name, field as ZodType)
    return this
  }

  list(): readonly Argument[] {
    return [...this.#all.values()]
  }
}

/** What the word after an option means to a schema. */
export type ArgumentKind = 'flag' | 'number' | 'list' | 'text' | 'json'

/** How a schema's value is written on a command line. */
export function kindOf(schema: ZodType): ArgumentKind {
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

/** Reads the values of options as their schemas have them; texts come from a command line, other values from a program. */
export function parseArguments(
  list: readonly Argument[],
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const entries = list.map(({ name, schema }) => {
    const raw = given[name]
    const parsed = schema.safeParse(typeof raw === 'string' ? fromText(raw, kindOf(schema)) : raw)
    if (parsed.success) return [name, parsed.data] as const
    const expected = parsed.error.issues[0]?.message ?? 'another value'
    throw new InputValidationError(
      `${flagOf(name)}: ${expected}, got ${raw === undefined ? 'nothing' : JSON.stringify(raw)}`,
      '--help says what it takes',
    )
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** `maxRows` is `--max-rows`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

function fromText(text: string, kind: ArgumentKind): unknown {
  if (kind === 'number') return text.trim() === '' ? text : Number(text)
  if (kind === 'list') return text.split(',').map((part) => part.trim())
  return kind === 'text' ? text : jsonOrText(text)
}
