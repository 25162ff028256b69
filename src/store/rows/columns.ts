import { columnsOf, traceColumns } from '../../formats/traces/row.ts'
import { readJson } from '../../lib/parse-json.ts'

type Columns = Readonly<Record<string, string>>

/** Kinds of rows that are kept between the stages of a recipe. */
export const storedKinds = ['raw', 'task', 'trace'] as const
export type StoredKind = (typeof storedKinds)[number]

const types = { text: 'VARCHAR', int32: 'INTEGER', int64: 'BIGINT', float64: 'DOUBLE' } as const

/** Columns that hold JSON as text. */
const json = new Set(['fields', 'lineage', 'signals'])

/** The columns of each kind of row on disk, with their SQL types. */
export const rowColumns: Readonly<Record<StoredKind, Columns>> = {
  raw: { id: 'VARCHAR', source: 'VARCHAR', fields: 'VARCHAR' },
  task: {
    id: 'VARCHAR',
    name: 'VARCHAR',
    source: 'VARCHAR',
    instruction: 'VARCHAR',
    digest: 'VARCHAR',
    archive: 'BLOB',
    lineage: 'VARCHAR',
    signals: 'VARCHAR',
  },
  trace: { id: 'VARCHAR', ...columnsOfTraces(), lineage: 'VARCHAR', signals: 'VARCHAR' },
}

/** Encodes a row as the values of its columns, in order. */
export function encodeRow(kind: StoredKind, row: object): unknown[] {
  const record = row as Readonly<Record<string, unknown>>
  return Object.entries(rowColumns[kind]).map(([name, type]) => encodeValue(name, type, record[name]))
}

/** Decodes a row from its column values by name. */
export function decodeRow(kind: StoredKind, record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(rowColumns[kind]).map((name) => [name, decodeValue(name, record[name])]))
}

function encodeValue(name: string, type: string, value: unknown): unknown {
  if (json.has(name)) return JSON.stringify(value ?? (name === 'lineage' ? null : {}))
  if (value === undefined || value === null) return null
  if (type === 'BIGINT') return BigInt(Math.trunc(Number(value)))
  return value
}

function decodeValue(name: string, value: unknown): unknown {
  if (json.has(name)) return readJson(typeof value === 'string' ? value : 'null')
  if (typeof value === 'bigint') return Number(value)
  return value ?? null
}

function structOf(keys: Readonly<Record<string, keyof typeof types>>): string {
  const fields = Object.entries(keys).map(([key, kind]) => `"${key}" ${types[kind]}`)
  return `STRUCT(${fields.join(', ')})[]`
}

function columnsOfTraces(): Columns {
  return Object.fromEntries(
    columnsOf([]).map((name) => {
      const kind = traceColumns[name]
      return [name, typeof kind === 'string' ? types[kind] : structOf(kind)]
    }),
  )
}
