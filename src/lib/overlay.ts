type Table = Readonly<Record<string, unknown>>

/** Merges tables key by key; any other value is replaced. */
export function overlay(below: Table, above: Table): Table {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const there = merged[key]
    merged[key] = isTable(there) && isTable(value) ? overlay(there, value) : value
  }
  return merged
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
