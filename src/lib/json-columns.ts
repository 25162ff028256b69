/** Many similar JSON values, stored so that shared parts appear once. Is itself a JSON value. */
export type Column =
  | { readonly same: unknown }
  /** A few distinct values, and which of them each one is. */
  | { readonly values: readonly unknown[]; readonly at: readonly number[] }
  /** Objects with the same keys in the same order. */
  | { readonly fields: Readonly<Record<string, Column>> }
  | { readonly each: readonly unknown[] }

/** Stores values as a column. */
export function makeColumn(values: readonly unknown[]): Column {
  const places = new Map<string, number>()
  const different: unknown[] = []
  const at = values.map((value) => {
    const text = JSON.stringify(value)
    const known = places.get(text)
    if (known !== undefined) return known
    places.set(text, different.length)
    return different.push(value) - 1
  })
  if (different.length === 1) return { same: different[0] }
  if (different.length <= values.length / 4) return { values: different, at }
  const keys = sharedKeys(values)
  if (keys === null) return { each: values }
  return { fields: Object.fromEntries(keys.map((key) => [key, makeColumn(values.map((value) => Object(value)[key]))])) }
}

/** Null unless all values are objects with the same keys, none of which needs special treatment. */
function sharedKeys(values: readonly unknown[]): readonly string[] | null {
  let keys: readonly string[] | null = null
  for (const value of values) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const own = Object.keys(value)
    keys ??= own
    if (own.length !== keys.length || own.some((key, nth) => key !== keys?.[nth])) return null
    if (own.some((key) => key === '__proto__' || Object(value)[key] === undefined)) return null
  }
  return keys
}

/** Returns a column's values by number. Equal parts may be the same object. */
export function readColumn(column: Column): (nth: number) => unknown {
  if ('same' in column) return () => column.same
  if ('each' in column) return (nth) => column.each[nth]
  if ('values' in column) return (nth) => column.values[column.at[nth] ?? 0]
  const fields = Object.entries(column.fields)
  // Copying an object with all its keys takes a fraction of the time of adding them one by one.
  const shared = Object.fromEntries(fields.map(([key, field]) => [key, 'same' in field ? field.same : null]))
  const others = fields
    .filter(([, field]) => !('same' in field))
    .map(([key, field]) => ({ key, read: readColumn(field) }))
  return (nth) => {
    const value = { ...shared }
    for (const { key, read } of others) value[key] = read(nth)
    return value
  }
}
