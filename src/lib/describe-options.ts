import { z } from 'zod'

/** One option of a plug-in, for people. */
export interface DescribedOption {
  readonly name: string
  readonly type: string
  /** As JSON; null when there is none. */
  readonly default: string | null
  readonly required: boolean
  readonly description: string
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly default?: unknown
  readonly description?: string
}

/** The options a user may give, as JSON Schema. */
export function optionsSchema(options: z.ZodType): Schema {
  return z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }) as Schema
}

/** Every option by name, required ones first. */
export function describeOptions(options: z.ZodType): readonly DescribedOption[] {
  return describeSchema(optionsSchema(options)).map(({ described }) => described)
}

/** The same, and below each option that is an object its keys, as `option.key`. */
export function describeNestedOptions(options: z.ZodType): readonly DescribedOption[] {
  return describeSchema(optionsSchema(options)).flatMap(({ described, schema }) => [
    described,
    ...(schema.type === 'object'
      ? describeSchema(schema).map((inner) => ({
          ...inner.described,
          name: `${described.name}.${inner.described.name}`,
        }))
      : []),
  ])
}

function describeSchema(whole: Schema): { readonly described: DescribedOption; readonly schema: Schema }[] {
  const all = formsOf(whole).flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, schema]) => ({
      schema,
      described: {
        name,
        type: typeOf(schema),
        default: schema.default === undefined ? null : JSON.stringify(schema.default),
        required: required.includes(name) && schema.default === undefined,
        description: schema.description ?? '',
      },
    })),
  )
  const once = [...new Map(all.map((option) => [option.described.name, option])).values()]
  const isRequired = ({ described }: (typeof once)[number]) => described.required
  return [...once.filter(isRequired), ...once.filter((option) => !isRequired(option))]
}

/** Every form of a union of options, so that the names of all forms are listed. */
function formsOf(schema: Schema): readonly Schema[] {
  return schema.anyOf?.flatMap(formsOf) ?? [schema]
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' | ')
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'anything'}`
  if (schema.type === 'integer' || schema.type === 'number') return `${schema.type}${rangeOf(schema)}`
  return [schema.type ?? 'anything'].flat().join(' | ')
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  const least = exclusiveMinimum === undefined ? minimum : exclusiveMinimum
  const isBounded = (value: number | undefined) => value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER
  const low = isBounded(least) ? (exclusiveMinimum === undefined ? `from ${least}` : `above ${least}`) : ''
  const high = isBounded(maximum) ? `up to ${maximum}` : ''
  return low || high ? ` ${[low, high].filter(Boolean).join(' ')}` : ''
}
