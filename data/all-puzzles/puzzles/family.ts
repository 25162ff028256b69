import type { Draws } from 'ot-agent'

export const levels = ['easy', 'medium', 'hard'] as const
export type Level = (typeof levels)[number]

/** A puzzle with one answer known to be correct; others may be correct too. */
export interface Puzzle {
  /** What to find, and how to write it down. */
  readonly ask: readonly string[]
  /** The puzzle, in the form that both the solver and the check read. */
  readonly text: string
  /** Facts that only the check gets, for example the length of a shortest path: `name value` lines. */
  readonly facts?: Readonly<Record<string, number>>
  readonly answer: string
}

/** A kind of puzzle, with a check that accepts every correct answer. */
export interface Family {
  readonly name: string
  draw(random: Draws, level: Level): Puzzle | null
  /**
   * An awk program: reads the facts, then the puzzle, then the answer (`file` is 1, 2, 3), and calls `accept()` at the
   * end if everything is correct.
   */
  readonly check: string
}

export function byLevel(level: Level, easy: number, medium: number, hard: number): number {
  return { easy, medium, hard }[level]
}

export function lines(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('')
}
