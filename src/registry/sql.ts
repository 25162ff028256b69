/** A value that can be bound to a statement. */
export type Value = string | number | null

/** A statement with its values kept separate, so that no value is ever parsed as SQL. */
export interface Sql {
  readonly parts: readonly string[]
  readonly values: readonly Value[]
}

/** Builds SQL from a tagged template: `${value}` becomes a placeholder, and a nested `sql` is inserted as SQL. */
export function sql(texts: TemplateStringsArray, ...given: readonly (Value | Sql)[]): Sql {
  const parts = [texts[0] ?? '']
  const values: Value[] = []
  for (const [i, one] of given.entries()) {
    const after = texts[i + 1] ?? ''
    if (one !== null && typeof one === 'object') {
      const [first = '', ...more] = one.parts
      parts.push(`${parts.pop()}${first}`, ...more)
      values.push(...one.values)
      parts.push(`${parts.pop()}${after}`)
    } else {
      parts.push(after)
      values.push(one)
    }
  }
  return { parts, values }
}

/** SQL text that is part of the program. Never pass it external input. */
export function raw(text: string): Sql {
  return { parts: [text], values: [] }
}

/** Joins statements or conditions with a separator. */
export function join(list: readonly Sql[], separator: string): Sql {
  return list.reduce((all, one, i) => (i === 0 ? one : sql`${all}${raw(separator)}${one}`), raw(''))
}

/** `WHERE a AND b`, or nothing if there are no conditions. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? raw('') : sql`WHERE ${join(conditions, ' AND ')}`
}

/** Renders a statement with a database's placeholder syntax. */
export function textOf({ parts }: Sql, placeholder: (nth: number) => string): string {
  return parts.reduce((text, part, i) => (i === 0 ? part : `${text}${placeholder(i)}${part}`), '')
}

/**
 * Makes a value that both databases store alike. PostgreSQL rejects NUL characters, which agent output can hold; SQLite
 * turns non-finite numbers into NULL.
 */
export function portable(value: Value): Value {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return value === null ? null : value.replaceAll('\0', '\u{fffd}').replace(/\p{Surrogate}/gu, '\u{fffd}')
}
