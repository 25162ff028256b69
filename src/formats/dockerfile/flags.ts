import type { Command } from './instruction.ts'
import type { LogicalLine } from './lines.ts'
import { dockerfileError, type Place, parseJsonStrings, splitPlain } from './words.ts'

/** The options of one instruction. Each is queried by name; options that are never queried are errors. */
export class Flags {
  private readonly values = new Map<string, string[]>()

  constructor(
    flags: readonly string[],
    private readonly at: Place,
    private readonly instruction: string,
  ) {
    for (const flag of flags) {
      const match = /^--([^=]+)(?:=(.*))?$/s.exec(flag)
      const name = match?.[1] ?? ''
      this.values.set(name, [...(this.values.get(name) ?? []), match?.[2] ?? ''])
    }
  }

  /** All values of a repeatable option. */
  all(name: string): readonly string[] {
    const values = this.values.get(name) ?? []
    this.values.delete(name)
    return values
  }

  /** The value of an option that may occur once. */
  one(name: string): string | null {
    const values = this.all(name)
    if (values.length > 1) throw dockerfileError(this.at, `${this.instruction} --${name} occurs twice`)
    if (values[0] === '') throw dockerfileError(this.at, `${this.instruction} --${name} needs a value`)
    return values[0] ?? null
  }

  /** An option that is on if given without a value. */
  switch(name: string, fallback: boolean): boolean {
    const value = this.all(name).at(-1)
    if (value === undefined) return fallback
    if (value === '' || value === 'true') return true
    if (value === 'false') return false
    throw dockerfileError(
      this.at,
      `${this.instruction} --${name}: expected true or false, got ${JSON.stringify(value)}`,
    )
  }

  has(name: string): boolean {
    return this.values.has(name)
  }

  /** Call last: throws for unknown options. */
  end(): void {
    const unknown = [...this.values.keys()][0]
    if (unknown !== undefined) throw dockerfileError(this.at, `${this.instruction} has no option --${unknown}`)
  }
}

/** The input of an instruction's parser. */
export interface InstructionText {
  readonly at: Place
  readonly source: LogicalLine
  readonly flags: Flags
  readonly escapeChar: string
}

/** A JSON array is a program with arguments; anything else is a shell line. */
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
