/** One thing to type, and how long to wait for it at most. */
export interface Command {
  readonly keystrokes: string
  readonly durationSec: number
}

/** What a reply of the model says, as far as it could be understood. */
export interface Parsed {
  readonly analysis: string
  readonly plan: string
  readonly commands: readonly Command[]
  readonly isComplete: boolean
  /** Why nothing was understood; empty when it was. */
  readonly error: string
  /** What the model should do better, one line each. */
  readonly warnings: readonly string[]
}

/** A way to write replies: the model is told about it, and its replies are read by it. */
export interface Dialect {
  /** What a reply in it is called when one asks for a proper one: "JSON response". */
  readonly replyName: string
  parse(reply: string): Parsed
  /** Whether the reply, cut off at the output limit, had said everything before. */
  isWhole(reply: string): boolean
}

/** The wait when the model named none that can be used. */
export const defaultDurationSec = 1

/** A reply of which nothing could be used. */
export function unusable(error: string, warnings: readonly string[] = []): Parsed {
  return { analysis: '', plan: '', commands: [], isComplete: false, error, warnings }
}

const mostListed = 20

/** Warnings as they are told to the model. */
export function listed(warnings: readonly string[]): string {
  const more = warnings.length - mostListed
  const shown = more > 0 ? [...warnings.slice(0, mostListed), `and ${more} more like these`] : warnings
  return shown.map((warning) => `- ${warning}`).join('\n')
}
