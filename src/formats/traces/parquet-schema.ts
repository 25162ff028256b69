import type { ParquetWriter } from 'hyparquet-writer'
import { type TraceColumn, traceColumns } from './row.ts'

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema']
type Kind = (typeof traceColumns)[TraceColumn]

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const

const scalars = {
  text,
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  float64: { type: 'DOUBLE' },
} as const

/** The parquet schema of these columns; a list of messages is a list of structs, as in Arrow. */
export function parquetSchema(columns: readonly TraceColumn[]): Schema {
  return [{ name: 'schema', num_children: columns.length }, ...columns.flatMap(elementsOf)]
}

function elementsOf(name: TraceColumn): Schema {
  const kind = traceColumns[name]
  if (typeof kind === 'string') return [{ name, repetition_type: 'OPTIONAL', ...scalars[kind] }]
  return [
    { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL', num_children: Object.keys(kind).length },
    ...Object.entries(kind).map(([key, of]) => ({ name: key, repetition_type: 'OPTIONAL' as const, ...scalars[of] })),
  ]
}

const dtypes = { text: 'string', int32: 'int32', int64: 'int64', float64: 'float64' } as const

/**
 * The columns in the form that `datasets` stores in a file's metadata. A list is written as a list of one, which every
 * version can read.
 */
export function featuresOf(columns: readonly TraceColumn[]): Readonly<Record<string, unknown>> {
  const feature = (kind: Kind) =>
    typeof kind === 'string'
      ? value(kind)
      : [Object.fromEntries(Object.entries(kind).map(([key, of]) => [key, value(of)]))]
  return Object.fromEntries(columns.map((name) => [name, feature(traceColumns[name])]))
}

function value(kind: keyof typeof dtypes): Readonly<Record<string, string>> {
  return { dtype: dtypes[kind], _type: 'Value' }
}

/** The columns as listed in the front matter of a dataset card. */
export function cardFeatures(columns: readonly TraceColumn[]): readonly unknown[] {
  return columns.map((name) => {
    const kind = traceColumns[name]
    if (typeof kind === 'string') return { name, dtype: dtypes[kind] }
    return { name, list: Object.entries(kind).map(([key, of]) => ({ name: key, dtype: dtypes[of] })) }
  })
}
