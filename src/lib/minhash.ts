import { mixed, runHashes } from './word-hashes.ts'

/** Numbers of a signature. One hash per run of words is enough: it chooses the place and is the value. */
export const signatureSize = 128
const emptyPlace = 0xffffffff
const shift = 32 - Math.log2(signatureSize)

/** The lower halves of the hashes: two that differ look the same once in 65,536, and a million texts take half the memory. */
export type Signature = Uint16Array

/** A signature of a text's runs of words: how many places two of them agree in is how much the texts share. Null for a text without words. */
export function signatureOf(words: Uint32Array, runLength = 5): Signature | null {
  if (words.length === 0) return null
  const places = new Uint32Array(signatureSize).fill(emptyPlace)
  const runs = runHashes(words, runLength)
  for (let i = 0; i < runs.length; i++) {
    const hash = runs[i] ?? 0
    const place = hash >>> shift
    if (hash < (places[place] ?? 0)) places[place] = hash
  }
  return new Uint16Array(densified(places))
}

/** An estimate of the share of runs two texts have in common (Jaccard). */
export function similarity(a: Signature, b: Signature): number {
  let same = 0
  for (let i = 0; i < signatureSize; i++) if (a[i] === b[i]) same++
  return same / signatureSize
}

/** Fills places that no run fell into from others, always the same ones, so that short texts can be compared too. */
function densified(places: Uint32Array): Uint32Array {
  const filled = places.slice()
  for (let place = 0; place < signatureSize; place++) {
    if (places[place] !== emptyPlace) continue
    let attempt = 1
    let from = mixed(place * 31 + attempt) % signatureSize
    while (places[from] === emptyPlace) from = mixed(place * 31 + ++attempt) % signatureSize
    filled[place] = mixed((places[from] ?? 0) + attempt)
  }
  return filled
}

const bands = 21
const bandRows = 6

/**
 * Finds earlier texts that are at least so similar to a new one, without comparing it with all of them: texts that agree in a whole
 * band of their signatures meet in a table. At a similarity of 0.8 that misses two in a thousand.
 */
export class SimilarTexts {
  private readonly tableSize: number
  private readonly tables: Int32Array
  private readonly next: Int32Array
  private readonly signatures: Uint16Array
  private count = 0

  constructor(capacity: number) {
    this.tableSize = 2 ** Math.ceil(Math.log2(Math.max(16, capacity * 1.5)))
    this.tables = new Int32Array(this.tableSize * bands).fill(-1)
    this.next = new Int32Array(Math.max(1, capacity) * bands).fill(-1)
    this.signatures = new Uint16Array(Math.max(1, capacity) * signatureSize)
  }

  /** The number of the text added first that is at least `least` like this one, and how like it is. */
  find(signature: Signature, least: number): { readonly index: number; readonly similarity: number } | null {
    let best: { index: number; similarity: number } | null = null
    for (let band = 0; band < bands; band++) {
      let at = this.tables[this.slot(signature, band)] ?? -1
      for (; at >= 0; at = this.next[at * bands + band] ?? -1) {
        if ((best !== null && at >= best.index) || !this.sharesBand(at, signature, band)) continue
        const alike = similarity(signature, this.signatures.subarray(at * signatureSize, (at + 1) * signatureSize))
        if (alike >= least) best = { index: at, similarity: alike }
      }
    }
    return best
  }

  /** Most texts in a slot are there by chance, which a few numbers tell. */
  private sharesBand(at: number, signature: Signature, band: number): boolean {
    for (let i = band * bandRows; i < (band + 1) * bandRows; i++)
      if (this.signatures[at * signatureSize + i] !== signature[i]) return false
    return true
  }

  /** Adds a text; gives its number, counted from 0. */
  add(signature: Signature): number {
    const index = this.count++
    this.signatures.set(signature, index * signatureSize)
    for (let band = 0; band < bands; band++) {
      const slot = this.slot(signature, band)
      this.next[index * bands + band] = this.tables[slot] ?? -1
      this.tables[slot] = index
    }
    return index
  }

  private slot(signature: Signature, band: number): number {
    let hash = band + 1
    for (let i = band * bandRows; i < (band + 1) * bandRows; i++)
      hash = Math.imul(hash, 0x01000193) ^ (signature[i] ?? 0)
    return band * this.tableSize + (mixed(hash) & (this.tableSize - 1))
  }
}
