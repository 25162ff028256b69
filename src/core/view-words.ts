/** Longer words are known by their beginning. */
const longest = 40

/** The words of a text, each once: runs of letters and digits in lower case, as the server's index of words has them. */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const [word] of text.matchAll(/[a-z0-9\u0080-\uffff]+/gi))
    words.add(word.slice(0, longest).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()))
  return words
}

/** In how many files the words of some rows are kept, so that a search loads a small part of them. */
export const wordFiles = 16

/** The file that holds a word. */
export function wordFileOf(word: string): number {
  let hash = 0
  for (let i = 0; i < word.length; i++) hash = (Math.imul(hash, 31) + word.charCodeAt(i)) | 0
  return (hash >>> 0) % wordFiles
}

/** Of each word the numbers of the rows that have it. */
export type WordFile = Readonly<Record<string, readonly number[]>>
