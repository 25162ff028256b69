import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SimilarTexts, signatureOf, similarity } from './minhash.ts'
import { makeRandom } from './random.ts'
import { runHashes, wordHashes } from './word-hashes.ts'

const vocabulary = Array.from({ length: 3000 }, (_, i) => `word${i}`)
const textOf = (key: string, words: number) => {
  const random = makeRandom(1, key)
  return Array.from({ length: words }, () => random.pick(vocabulary))
}
const sign = (text: string) => signatureOf(wordHashes(text))
const signed = (words: readonly string[]) => sign(words.join(' '))!

test('layout, signs and case do not matter', () => {
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

test('the same words in a row have the same hash wherever they stand', () => {
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

test('near copies are found among thousands, and strangers are not', () => {
  const texts = new SimilarTexts(5000)
  for (let i = 0; i < 5000; i++) texts.add(signed(textOf(`text ${i}`, 120)))
  let found = 0
  for (let i = 0; i < 200; i++) {
    const copy = textOf(`text ${i}`, 120)
    copy[60] = 'changed'
    if (texts.find(signed(copy), 0.8)?.index === i) found++
    expect(texts.find(signed(textOf(`stranger ${i}`, 120)), 0.8)).toBeNull()
  }
  expect(found).toBeGreaterThanOrEqual(195)
})

test('short texts are compared too', () => {
  expect(similarity(sign('list all files')!, sign('List all files.')!)).toBe(1)
  expect(similarity(sign('list all files')!, sign('remove the user bob')!)).toBeLessThan(0.2)
})
