/**
 * The words of a text as 32-bit hashes, in order: runs of letters and digits, in lower case. Signs and blanks only part words,
 * so that a text that was laid out anew is the same text.
 */
export function wordHashes(text: string): Uint32Array {
  let hashes = new Uint32Array(Math.max(16, text.length >> 2))
  let count = 0
  let hash = start
  let inWord = false
  for (let i = 0; i < text.length; i++) {
    const code = lower(text.charCodeAt(i))
    if (isWordSign(code)) {
      hash = Math.imul(hash ^ code, prime)
      inWord = true
      continue
    }
    if (!inWord) continue
    if (count === hashes.length) hashes = grown(hashes)
    hashes[count++] = hash >>> 0
    hash = start
    inWord = false
  }
  if (inWord) {
    if (count === hashes.length) hashes = grown(hashes)
    hashes[count++] = hash >>> 0
  }
  return hashes.subarray(0, count)
}

/** A hash of each run of `length` words; a text with fewer words is one run. Calls back instead of making a list. */
export function eachRun(words: Uint32Array, length: number, visit: (hash: number, at: number) => void): void {
  const size = Math.min(length, words.length)
  if (size === 0) return
  // The hash of a run is made from the one before: a word comes in, a word goes out.
  let leaving = 1
  for (let i = 0; i < size; i++) leaving = Math.imul(leaving, step)
  let hash = 0
  for (let i = 0; i < words.length; i++) {
    hash = (Math.imul(hash, step) + (words[i] ?? 0)) | 0
    if (i >= size) hash = (hash - Math.imul(words[i - size] ?? 0, leaving)) | 0
    if (i >= size - 1) visit(mixed(hash ^ size), i - size + 1)
  }
}

const step = 0x2c1b3c6d
const start = 0x811c9dc5
const prime = 0x01000193

/** Spreads a hash over all 32 bits. */
export function mixed(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function lower(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code
}

/** Letters, digits, and everything that is not ASCII: other scripts write words without our letters. */
function isWordSign(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code > 127
}

function grown(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
