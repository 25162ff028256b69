import { dockerfileError, type Place } from './error.ts'
import { type ExpandOptions, ExpansionError, expand, type Variables } from './expand.ts'

/** Expands a word of a known line; what cannot be expanded throws with that line. */
export function expandAt(
  text: string,
  variables: Variables,
  at: Place,
  escapeChar = '\\',
  options: Pick<ExpandOptions, 'quotes'> = {},
): string {
  try {
    return expand(text, variables, { ...options, escapeChar })
  } catch (error) {
    if (error instanceof ExpansionError) throw dockerfileError(at, error.message)
    throw error
  }
}
