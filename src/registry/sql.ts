/** What a statement can be given as a value. */
export type Value = string | number | null

/** A statement with its values apart, so that no value is ever read as SQL. */
export interface Sql {
  readonly parts: readonly string[]
  readonly values: readonly Value[]
}

/** Writes SQL as a tagged template: `${value}` becomes a placeholder, and a nested `sql` is inserted as it is. */
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

/** Text that is part of the program, as SQL. Never call it with text from outside. */
export function raw(text: string): Sql {
  return { parts: [text], values: [] }
}

/** Statements or conditions with a separator between them. */
export function join(list: readonly Sql[], separator: string): Sql {
  return list.reduce((all, one, i) => (i === 0 ? one : sql`${all}${raw(separator)}${one}`), raw(''))
}

/** `WHERE a AND b`, or nothing without conditions. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? raw('') : sql`WHERE ${join(conditions, ' AND ')}`
}

/** The text of a statement with the placeholders of a database. */
export function textOf({ parts }: Sql, placeholder: (nth: number) => string): string {
  return parts.reduce((text, part, i) => (i === 0 ? part : `${text}${placeholder(i)}${part}`), '')
}

/**
 * A value that both databases store alike. PostgreSQL refuses NUL characters, which output of agents can hold; SQLite turns numbers
 * that are not finite into NULL.
 */
export function portable(value: Value): Value {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  return value === null ? null : value.replaceAll('\0', '\u{fffd}').replace(/\p{Surrogate}/gu, '\u{fffd}')
}
