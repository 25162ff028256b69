import { mixed, runStep } from './word-hashes.ts'

/** How many numbers a signature has. One hash per run of words is enough: it selects the place and is the value. */
export const signatureSize = 128
/** Bits of a hash that remain after it has selected its place. */
const valueBits = 32 - Math.log2(signatureSize)
const valueMask = 2 ** valueBits - 1
/** Above every value. */
const emptyPlace = 2 ** valueBits

/**
 * The lower halves of the hashes: two different ones look the same once in 65,536, and a million texts take half the
 * memory.
 */
export type Signature = Uint16Array

/**
 * A signature of a text's word runs: the number of places in which two signatures agree tells how much the texts share.
 * Null for a text without words.
 */
export function signatureOf(words: Uint32Array, runLength = 5): Signature | null {
  const signature = new Uint16Array(signatureSize)
  return signInto(signature, words, runLength) ? signature : null
}

const places = new Int32Array(signatureSize)

/** The same into the caller's memory; false for a text without words. */
export function signInto(signature: Signature, words: Uint32Array, runLength: number): boolean {
  const count = words.length
  if (count === 0) return false
  placeRuns(words, Math.min(runLength, count))
  for (let place = 0; place < signatureSize; place++) {
    const value = places[place] ?? emptyPlace
    signature[place] = value === emptyPlace ? borrowed(place) : value
  }
  return true
}

/**
 * The smallest hash of a run in each place. The hashes are those of `runHashes`, which are needed only one at a time
 * here.
 */
function placeRuns(words: Uint32Array, size: number): void {
  places.fill(emptyPlace)
  let leaving = 1
  for (let i = 1; i < size; i++) leaving = Math.imul(leaving, runStep)
  let hash = 0
  for (let i = 0; i < size - 1; i++) hash = (Math.imul(hash, runStep) + (words[i] ?? 0)) | 0
  for (let i = size - 1, first = 0; i < words.length; i++, first++) {
    hash = (Math.imul(hash, runStep) + (words[i] ?? 0)) | 0
    const run = mixed(hash ^ size)
    const place = run >>> valueBits
    const least = places[place] ?? 0
    // The minimum of two numbers without a branch, because the outcome cannot be predicted.
    const less = (run & valueMask) - least
    places[place] = least + (less & (less >> 31))
    hash = (hash - Math.imul(words[first] ?? 0, leaving)) | 0
  }
}

/** Places without a run are filled from other, fixed places, so that short texts can be compared too. */
function borrowed(place: number): number {
  let attempt = 1
  let from = mixed(place * 31 + attempt) % signatureSize
  while (places[from] === emptyPlace) from = mixed(place * 31 + ++attempt) % signatureSize
  return mixed((((from << valueBits) | (places[from] ?? 0)) >>> 0) + attempt)
}

/** An estimate of the share of word runs that two texts have in common (Jaccard). */
export function similarity(a: Signature, b: Signature): number {
  let same = 0
  for (let i = 0; i < signatureSize; i++) if (a[i] === b[i]) same++
  return same / signatureSize
}
