import { createHash } from 'node:crypto'

/**
 * JSON in which equal values have equal text: keys sorted, no blanks, no undefined. Values that JSON cannot hold get
 * their own notation, so that rows from parquet and the like have a digest too.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? String(value) : `"${value}n"`
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (value instanceof Date) return JSON.stringify(value.toJSON())
  if (value instanceof Uint8Array) return JSON.stringify(`base64:${Buffer.from(value).toString('base64')}`)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined && typeof item !== 'function')
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

/** SHA-256 of a value's canonical JSON, hex. */
export function digestJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** The identity of a source's row: SHA-256 of its canonical JSON, hex. */
export function rowDigest(row: { readonly id: string; readonly source: string; readonly fields: object }): string {
  return digestJson({ id: row.id, source: row.source, fields: row.fields })
}
