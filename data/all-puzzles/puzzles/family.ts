import type { Draws } from 'ot-agent'

export const levels = ['easy', 'medium', 'hard'] as const
export type Level = (typeof levels)[number]

/** One puzzle with an answer that is known to be right; others may be right too. */
export interface Puzzle {
  /** What to find, and how to write it down. */
  readonly ask: readonly string[]
  /** The puzzle as the solver gets it, and as the check reads it. */
  readonly text: string
  /** Facts only the check knows, for example how long a shortest path is: `name value` lines. */
  readonly facts?: Readonly<Record<string, number>>
  readonly answer: string
}

/** A kind of puzzle, with a check that accepts every right answer. */
export interface Family {
  readonly name: string
  draw(random: Draws, level: Level): Puzzle | null
  /**
   * An awk program: reads facts, then the puzzle, then the answer (`file` is 1, 2, 3), and calls `accept()` at the end if all is right.
   */
  readonly check: string
}

export function byLevel(level: Level, easy: number, medium: number, hard: number): number {
  return { easy, medium, hard }[level]
}

export function lines(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('')
}
