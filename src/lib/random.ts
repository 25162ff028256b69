import { createHash } from 'node:crypto'

/** A stream of choices that is the same in every run on every machine. */
export interface Random {
  /** A number from 0 up to but not including 1. */
  next(): number
  /** A whole number from 0 up to but not including `below`. */
  below(below: number): number
  pick<T>(items: readonly T[]): T
  /** The items in another order; the list itself is unchanged. */
  shuffle<T>(items: readonly T[]): T[]
  /** A sample of the given size without repetition, in the original order. */
  sample<T>(items: readonly T[], count: number): T[]
}

/** A separate stream for every seed and key: one row's draws do not depend on the rows before it. */
export function makeRandom(seed: number, key: string): Random {
  const next = sfc32(createHash('sha256').update(`${seed}\0${key}`).digest())
  const below = (limit: number) => Math.floor(next() * limit)
  const shuffle = <T>(items: readonly T[]): T[] => {
    const mixed = [...items]
    for (let i = mixed.length - 1; i > 0; i--) {
      const j = below(i + 1)
      const [a, b] = [mixed[i] as T, mixed[j] as T]
      mixed[i] = b
      mixed[j] = a
    }
    return mixed
  }
  return {
    next,
    below,
    pick: (items) => {
      if (items.length === 0) throw new Error('nothing to pick from')
      return items[below(items.length)] as (typeof items)[number]
    },
    shuffle,
    sample: (items, count) => {
      const chosen = shuffle([...items.keys()]).slice(0, Math.max(0, count))
      return chosen.sort((a, b) => a - b).map((index) => items[index] as (typeof items)[number])
    },
  }
}

/** The small fast counter generator (sfc32): 128 bits of state, 32 bits per output. */
function sfc32(seed: Buffer): () => number {
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => seed.readInt32LE(at)) as [number, number, number, number]
  return () => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
}
