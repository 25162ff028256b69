/** Longer words are indexed by their beginning. */
const longest = 40

/** The words of a text, each once: runs of letters and digits in lower case, as in the server's word index. */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const [word] of text.matchAll(/[a-z0-9\u0080-\uffff]+/gi))
    words.add(word.slice(0, longest).replace(/[A-Z]+/g, (letters) => letters.toLowerCase()))
  return words
}

/** How many files the word index of some rows is split into, so that a search loads only a small part of it. */
export const wordFiles = 16

/** The file that holds a word. */
export function wordFileOf(word: string): number {
  let hash = 0
  for (let i = 0; i < word.length; i++) hash = (Math.imul(hash, 31) + word.charCodeAt(i)) | 0
  return (hash >>> 0) % wordFiles
}

/** For each word, the numbers of the rows that contain it. */
export type WordFile = Readonly<Record<string, readonly number[]>>
