import { dockerfileError, type Place } from './error.ts'
import type { Flags } from './flags.ts'
import type { Command } from './instruction.ts'
import type { LogicalLine } from './lines.ts'
import { parseJsonStrings, splitPlain } from './words.ts'

/** What a parser of one instruction gets. */
export interface InstructionText {
  readonly at: Place
  readonly source: LogicalLine
  readonly flags: Flags
  readonly escapeChar: string
}

/** A JSON array is a program with arguments; anything else is a line for the shell. */
export function parseCommand(text: string, at: Place): Command {
  const argv = parseJsonStrings(text)
  if (argv === 'mixed') throw dockerfileError(at, `expected only strings in ${text}`)
  return argv === null ? { form: 'shell', text } : { form: 'exec', argv }
}

/** Words from a JSON array, or plain words. */
export function parseList(text: string, at: Place): readonly string[] {
  const words = parseJsonStrings(text)
  if (words === 'mixed') throw dockerfileError(at, `expected only strings in ${text}`)
  return words ?? splitPlain(text)
}
