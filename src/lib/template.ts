/** Thrown when a template needs a field that a record does not have. */
export class MissingField extends Error {
  constructor(readonly field: string) {
    super(`expected the field ${field}, found none`)
  }
}

/**
 * Fills `{{field}}` from a record; `{{a.b.0}}` looks inside, `{{field|text}}` falls back to the text when the field is
 * missing or empty. Filled-in text is never expanded again. A missing field without a fallback is an error that names
 * it.
 */
export function renderTemplate(template: string, fields: Readonly<Record<string, unknown>>): string {
  return template.replace(
    /\{\{\s*([\w.-]+)\s*(?:\|([^}]*))?\}\}/g,
    (_, path: string, otherwise: string | undefined) => {
      const value = valueAt(fields, path)
      if (value !== undefined && value !== null && value !== '') return asText(value)
      if (otherwise === undefined) throw new MissingField(path)
      return otherwise
    },
  )
}

/** The value at a dotted path of a record, or undefined. */
export function valueAt(fields: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, part) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, part)
    return inside ? (value as Record<string, unknown>)[part] : undefined
  }, fields)
}

function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}
