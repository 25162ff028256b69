/**
 * The words of a text as 32-bit hashes, in order: runs of letters and digits, in lower case. Punctuation and whitespace
 * only separate words, so a reformatted text is the same text. Reads UTF-8, which costs half as much as reading a
 * string character by character.
 */
export function wordHashes(text: Uint8Array | string): Uint32Array {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  return scratch.slice(0, hashWords(bytes))
}

/**
 * The same in memory that the next text reuses: for callers that use the words at once and keep none. The same
 * unchanged bytes are not hashed again.
 */
export function passingWordHashes(bytes: Uint8Array): Uint32Array {
  const count = bytes === hashed ? hashedWords : hashWords(bytes)
  return scratch.subarray(0, count)
}

/** Whose words are in `scratch`, and how many. */
let hashed: Uint8Array | null = null
let hashedWords = 0

/** Puts the hashes of a text's words into `scratch`; returns how many there are. */
function hashWords(bytes: Uint8Array): number {
  // A word and its separator take at least two bytes.
  if (scratch.length < (bytes.length >> 1) + 1) scratch = new Uint32Array(bytes.length)
  const hashes = scratch
  const length = bytes.length
  let count = 0
  for (let i = 0; i < length; ) {
    let sign = wordSigns[bytes[i++] ?? 0] ?? 0
    if (sign === 0) continue
    let hash = 0
    for (; sign !== 0; sign = i < length ? (wordSigns[bytes[i++] ?? 0] ?? 0) : 0) hash = Math.imul(hash + sign, prime)
    hashes[count++] = hash
  }
  hashed = bytes
  hashedWords = count
  return count
}

let scratch = new Uint32Array(1 << 16)

/** A hash of each run of `length` words, in order; a text with fewer words is one run. */
export function runHashes(words: Uint32Array, length: number): Uint32Array {
  const size = Math.min(length, words.length)
  if (size === 0) return new Uint32Array(0)
  const runs = new Uint32Array(words.length - size + 1)
  // The hash of a run is computed from the previous one: a word comes in, a word goes out.
  let leaving = 1
  for (let i = 0; i < size; i++) leaving = Math.imul(leaving, runStep)
  let hash = 0
  for (let i = 0; i < words.length; i++) {
    hash = (Math.imul(hash, runStep) + (words[i] ?? 0)) | 0
    if (i >= size) hash = (hash - Math.imul(words[i - size] ?? 0, leaving)) | 0
    if (i >= size - 1) runs[i - size + 1] = mixed(hash ^ size)
  }
  return runs
}

export const runStep = 0x2c1b3c6d
const prime = 0x01000193

/** Spreads a hash over all 32 bits. */
export function mixed(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * What each byte is in a word: letters in lower case and digits; 0 separates words. All bytes beyond ASCII are part of
 * a word, because other scripts write words with other letters.
 */
const wordSigns = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 128 || /[a-z0-9]/i.test(String.fromCharCode(code)) ? lowerCase(code) : 0,
)

function lowerCase(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code
}
