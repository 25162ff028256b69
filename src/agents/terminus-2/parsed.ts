/** One thing to type, and the maximum time to wait for it. */
export interface Command {
  readonly keystrokes: string
  readonly durationSec: number
}

/** What a model's reply says, as far as it could be understood. */
export interface Parsed {
  readonly analysis: string
  readonly plan: string
  readonly commands: readonly Command[]
  readonly isComplete: boolean
  /** Why nothing was understood; empty otherwise. */
  readonly error: string
  /** What the model should do better, one line each. */
  readonly warnings: readonly string[]
}

/** A format for replies, described to the model and used to parse its replies. */
export interface Dialect {
  /** The name of such a reply when asking for a proper one: "JSON response". */
  readonly replyName: string
  parse(reply: string): Parsed
  /** Whether a reply cut off at the output limit was complete before the cut. */
  isWhole(reply: string): boolean
}

/** The wait when the model gave no usable one. */
export const defaultDurationSec = 1

/** A reply of which nothing could be used. */
export function unusable(error: string, warnings: readonly string[] = []): Parsed {
  return { analysis: '', plan: '', commands: [], isComplete: false, error, warnings }
}

const mostListed = 20

/** Warnings as shown to the model. */
export function listed(warnings: readonly string[]): string {
  const more = warnings.length - mostListed
  const shown = more > 0 ? [...warnings.slice(0, mostListed), `and ${more} more like these`] : warnings
  return shown.map((warning) => `- ${warning}`).join('\n')
}
