import { makeRandom, type Random } from './random.ts'

/** Random choices for makers of invented tasks. */
export interface Draws extends Random {
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number
  chance(probability: number): boolean
  /** Up to `count` different items, in a random order. */
  few<T>(items: readonly T[], count: number): T[]
  /** An independent stream of choices: drawing from it changes nothing here. */
  fork(label: string): Draws
}

/** Makes an independent stream of choices for every seed and key. */
export function makeDraws(seed: number, key: string): Draws {
  const random = makeRandom(seed, key)
  return {
    ...random,
    int: (min, max) => min + random.below(max - min + 1),
    chance: (probability) => random.next() < probability,
    few: (items, count) => random.shuffle(items).slice(0, Math.max(0, count)),
    fork: (label) => makeDraws(seed, `${key}/${label}`),
  }
}
