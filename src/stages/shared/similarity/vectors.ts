import { mixed, runHashes, wordHashes } from '../../../lib/word-hashes.ts'

/** The length of a hashed vector. */
export const vectorSize = 4096

/** A text as a sparse unit vector (position to weight) of its hashed words and word pairs: no model, no download. */
export function hashedVector(text: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  const words = wordHashes(text)
  const add = (hash: number) => {
    const place = hash % vectorSize
    // Half of the hashes count negatively, so that collisions cancel out instead of adding up.
    counts.set(place, (counts.get(place) ?? 0) + (mixed(hash) & 1 ? 1 : -1))
  }
  for (const word of words) add(mixed(word))
  if (words.length > 1) for (const pair of runHashes(words, 2)) add(pair)
  const length = Math.sqrt([...counts.values()].reduce((sum, count) => sum + count * count, 0))
  return new Map([...counts].map(([place, count]) => [place, length > 0 ? count / length : 0]))
}

/** The mean of some vectors, normalized again; dense. */
export function meanVector(vectors: readonly ReadonlyMap<number, number>[]): Float64Array {
  const sum = new Float64Array(vectorSize)
  for (const vector of vectors) for (const [place, weight] of vector) sum[place] = (sum[place] ?? 0) + weight
  const length = Math.sqrt(sum.reduce((total, weight) => total + weight * weight, 0))
  return length > 0 ? sum.map((weight) => weight / length) : sum
}

/** The cosine of the angle between a sparse and a dense unit vector. */
export function cosine(vector: ReadonlyMap<number, number>, dense: Float64Array): number {
  let sum = 0
  for (const [place, weight] of vector) sum += weight * (dense[place] ?? 0)
  return sum
}
