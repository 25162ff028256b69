import fc from 'fast-check'
import { expect, test } from 'vitest'
import { signatureOf, signatureSize, similarity } from './minhash.ts'
import { makeRandom } from './random.ts'
import { mixed, passingWordHashes, runHashes, wordHashes } from './word-hashes.ts'

const vocabulary = Array.from({ length: 3000 }, (_, i) => `word${i}`)
const textOf = (key: string, words: number) => {
  const random = makeRandom(1, key)
  return Array.from({ length: words }, () => random.pick(vocabulary))
}
const sign = (text: string) => signatureOf(wordHashes(text))
const signed = (words: readonly string[]) => sign(words.join(' '))!

test('layout, punctuation and case do not matter', () => {
  expect(wordHashes('Sort the  FILES, by size!')).toEqual(wordHashes('sort the files by size'))
  expect(wordHashes('')).toHaveLength(0)
  expect(sign(' ... ')).toBeNull()
})

test('every word of a text is hashed, however long the text is', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'bb', 'c3', 'é'), { maxLength: 200 }), (words) => {
      expect(wordHashes(words.join(' '))).toHaveLength(words.length)
    }),
  )
})

test('a text has one run of words less than words for each word of a run but the first', () => {
  expect(runHashes(wordHashes('a b c d e f g'), 5)).toHaveLength(3)
  expect(runHashes(wordHashes('a b'), 5)).toHaveLength(1)
  expect(runHashes(wordHashes('...'), 5)).toHaveLength(0)
})

test('a run of the same words has the same hash wherever it occurs', () => {
  const words = fc.array(fc.constantFrom('a', 'bb', 'c3', 'é'), { minLength: 3, maxLength: 30 })
  fc.assert(
    fc.property(words, words, (before, run) => {
      const alone = runHashes(wordHashes(run.join(' ')), run.length)
      expect(runHashes(wordHashes([...before, ...run].join(' ')), run.length).at(-1)).toBe(alone[0])
    }),
  )
})

test('the estimate is near the true share of runs', () => {
  const base = textOf('base', 2000)
  for (const share of [0.9, 0.5, 0.1]) {
    const cut = Math.round((2000 * (2 * share)) / (1 + share))
    const other = [...base.slice(0, cut), ...textOf(`other ${share}`, 2000 - cut)]
    expect(Math.abs(similarity(signed(base), signed(other)) - share)).toBeLessThan(0.15)
  }
  expect(similarity(signed(base), signed(textOf('elsewhere', 2000)))).toBeLessThan(0.05)
})

test('short texts are compared too', () => {
  expect(similarity(sign('list all files')!, sign('List all files.')!)).toBe(1)
  expect(similarity(sign('list all files')!, sign('remove the user bob')!)).toBeLessThan(0.2)
})

const anyText = fc.string({
  unit: fc.constantFrom('a', 'B', '7', ' ', '\n', '.', 'é', '漢', 'word', ' the '),
  maxLength: 400,
})

test('words are hashed byte by byte, in lower case', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const plain = (text.match(/[a-z0-9\u{80}-\u{10ffff}]+/giu) ?? []).map((word) => {
        const bytes = Buffer.from(word.replace(/[A-Z]/g, (letter) => letter.toLowerCase()))
        return bytes.reduce((hash, byte) => Math.imul(hash + byte, 0x01000193), 0) >>> 0
      })
      expect([...wordHashes(text)]).toEqual(plain)
      expect([...passingWordHashes(Buffer.from(text))]).toEqual(plain)
    }),
  )
})

test('a signature has the least hash of each place, and empty places are filled from others', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 1, max: 20 }), (text, runLength) => {
      const words = wordHashes(text)
      const places = new Map<number, number>()
      for (const run of runHashes(words, runLength)) {
        const place = run >>> 25
        places.set(place, Math.min(run, places.get(place) ?? run))
      }
      const plain = Array.from({ length: signatureSize }, (_, place) => {
        const own = places.get(place)
        for (let attempt = 1; own === undefined && words.length > 0; attempt++) {
          const other = places.get(mixed(place * 31 + attempt) % signatureSize)
          if (other !== undefined) return mixed(other + attempt) % 65_536
        }
        return (own ?? 0) % 65_536
      })
      expect(signatureOf(words, runLength)).toEqual(words.length === 0 ? null : Uint16Array.from(plain))
    }),
  )
})
