import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Signature, signatureOf, signatureSize, similarity } from './minhash.ts'
import { makeRandom } from './random.ts'
import { bandSize, bands, SimilarTexts, type Twin } from './similar-texts.ts'
import { wordHashes } from './word-hashes.ts'

const vocabulary = Array.from({ length: 3000 }, (_, i) => `word${i}`)
const textOf = (key: string, words: number) => {
  const random = makeRandom(1, key)
  return Array.from({ length: words }, () => random.pick(vocabulary))
}
const signed = (words: readonly string[]) => signatureOf(wordHashes(words.join(' ')))!

test('near copies are found among thousands, and unrelated texts are not', () => {
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

/**
 * The specification: finds the first text that agrees in all places of a band and is similar enough, by comparing with
 * every text.
 */
class PlainTexts {
  private readonly texts: Signature[] = []
  find(signature: Signature, least: number): Twin | null {
    const sharesBand = (text: Signature) => {
      let inARow = 0
      for (let place = 0; place < bands * bandSize; place++) {
        inARow = text[place] !== signature[place] ? 0 : place % bandSize === 0 ? 1 : inARow + (inARow > 0 ? 1 : 0)
        if (inARow === bandSize) return true
      }
      return false
    }
    const index = this.texts.findIndex((text) => sharesBand(text) && similarity(text, signature) >= least)
    const twin = this.texts[index]
    return twin ? { index, similarity: similarity(twin, signature) } : null
  }
  add(signature: Signature): void {
    this.texts.push(signature)
  }
}

/** Signatures that often collide: some are changed copies of earlier ones, and all share a part of a few templates. */
function crowd(key: string, count: number, shared: number): Signature[] {
  const random = makeRandom(2, key)
  const values = random.pick([2, 3, 16, 65_536])
  const fresh = () => Uint16Array.from({ length: signatureSize }, () => random.below(values))
  const templates = Array.from({ length: random.pick([1, 2, 5]) }, fresh)
  const made: Signature[] = []
  for (let i = 0; i < count; i++) {
    const isCopy = i > 0 && random.next() < 0.3
    const base = isCopy ? random.pick(made) : random.pick(templates)
    const keeps = isCopy ? 0.7 + random.next() * 0.3 : shared
    made.push(fresh().map((value, place) => (random.next() < keeps ? (base[place] ?? 0) : value)))
  }
  return made
}

test('the same texts are found as by comparing each with all before it, in a crowd too', () => {
  let found = 0
  let missed = 0
  fc.assert(
    fc.property(
      fc.string(),
      fc.integer({ min: 1, max: 200 }),
      fc.double({ min: 0, max: 0.95, noNaN: true }),
      fc.double({ min: 0.5, max: 1, noNaN: true }),
      fc.constantFrom(0, 1, 3, 20, 200),
      (key, count, shared, least, crowdSize) => {
        const signatures = crowd(key, count, shared)
        const [texts, plain] = [new SimilarTexts(count, crowdSize), new PlainTexts()]
        for (const signature of signatures) {
          const twin = plain.find(signature, least)
          expect(texts.find(signature, least)).toEqual(twin)
          expect(texts.findOrAdd(signature, least)).toEqual(twin)
          if (twin === null) plain.add(signature)
          if (twin) found++
          else missed++
        }
      },
    ),
    { numRuns: 60 },
  )
  expect(Math.min(found, missed)).toBeGreaterThan(500)
})

test('in a crowd of texts that share a part and are not similar, few are compared, and twins are found', () => {
  const random = makeRandom(3, 'prompt')
  const prompt = Uint16Array.from({ length: signatureSize }, () => random.below(65_536))
  const own = () => prompt.map((value) => (random.next() < 0.6 ? value : random.below(65_536)))
  const crowded = Array.from({ length: 3000 }, own)
  const copies = crowded
    .slice(0, 200)
    .map((text) => text.map((value, place) => (place % 10 === 0 ? random.below(65_536) : value)))
  const work = (crowdSize: number) => {
    const texts = new SimilarTexts(3200, crowdSize)
    let compared = 0
    const count = Reflect.get(texts, 'samePlaces') as (...args: unknown[]) => number
    Reflect.set(texts, 'samePlaces', (...args: unknown[]) => {
      compared++
      return count.apply(texts, args)
    })
    for (const signature of crowded) expect(texts.findOrAdd(signature, 0.8)).toBeNull()
    const twins = copies.map((copy) => texts.findOrAdd(copy, 0.8)?.index)
    return { compared, twins }
  }
  const [plain, indexed] = [work(10_000), work(32)]
  expect(indexed.twins).toEqual(plain.twins)
  expect(indexed.twins.filter((index, i) => index === i).length).toBeGreaterThan(190)
  // Every second text shares a band with the average one, and one in hundreds shares a rare place.
  expect(indexed.compared * 5).toBeLessThan(plain.compared)
})
