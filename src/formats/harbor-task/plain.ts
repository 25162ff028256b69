/** A table of TOML values as JSON would carry them: dates as text, huge integers as numbers. */
export function toPlain(table: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value === 'object' && value !== null) return toPlain(value as Record<string, unknown>)
  return value
}
