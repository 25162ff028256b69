import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makePack } from '../../../formats/benchmark/pack.ts'
import { parsePack, renderPack } from '../../../formats/benchmark/pack-file.ts'
import { Contamination } from './contamination.ts'

const about = { title: 'A benchmark', source: 'a test', licence: 'none' }
const usual = { words: 8, similarity: 0.8 }

/** The comparison for a pack of these texts, after writing and reading it. */
function knowing(texts: readonly string[], likeness = usual, words = 8) {
  const tasks = texts.map((instruction, i) => ({ id: `t${i}`, instruction }))
  const bytes = renderPack(makePack('held-out', tasks, words), about)
  return new Contamination([parsePack(bytes, 'x').pack], likeness)
}

const word = fc.stringMatching(/^[a-zäß]{2,9}$/)
const sentence = (least: number) => fc.array(word, { minLength: least, maxLength: 60 }).map((words) => words.join(' '))
const anyText = fc
  .oneof(fc.string({ unit: 'grapheme', minLength: 1 }), sentence(1), fc.nat().map(String))
  .filter((text) => /[a-z0-9]/i.test(text))

test('a pack finds every text it was made from, however it is laid out', () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyText, { minLength: 1, maxLength: 8 }), (texts) => {
      const known = knowing(texts)
      for (const text of texts) {
        expect(known.find(text)).toContain('of held-out t')
        expect(known.find(Buffer.from(text.replaceAll(' ', '\n\t* ')))).not.toBeNull()
      }
    }),
  )
})

test('eight words in a row are found wherever they stand, unless they tell nothing', () => {
  const distinct = fc.uniqueArray(word, { minLength: 8, maxLength: 30 })
  fc.assert(
    fc.property(distinct, sentence(0), sentence(0), fc.nat(), (words, before, after, from) => {
      const at = from % (words.length - 7)
      const part = words.slice(at, at + 8).join(' ')
      expect(knowing([words.join(' ')]).find(`${before}. ${part}! ${after}`)).toMatch(
        /^8 words in a row of held-out t0$/,
      )
    }),
  )
  const table = knowing(['Sum up the table 0 0 1 0 0 0 0 1 0 0 0 0 0 2 a b c d e f g h and say what it comes to.'])
  expect(table.find('0 0 0 0 0 0 0 0 0 0 0 0')).toBeNull()
  expect(table.find('columns a b c d e f g h')).toBeNull()
})

test('texts of other words are not found', () => {
  const other = fc.array(fc.stringMatching(/^q[0-9]{1,6}$/), { maxLength: 200 }).map((words) => words.join(' '))
  const known = knowing(['Move every file of the folder to another one and count how many lines they have in all.'])
  fc.assert(fc.property(other, (text) => void expect(known.find(text)).toBeNull()))
})

test('a stage that asks for more words in a row than a pack has runs of counts runs in a row', () => {
  const words = Array.from({ length: 30 }, (_, i) => `word${String.fromCharCode(97 + i)}x`)
  const known = knowing([words.join(' ')], { words: 13, similarity: 1 })
  expect(known.find(`please ${words.slice(4, 17).join(' ')} now`)).toBe('13 words in a row of held-out t0')
  expect(known.find(`please ${words.slice(4, 16).join(' ')} now`)).toBeNull()
})

test('a text with a word changed here and there is found by what it shares in all', () => {
  const words = Array.from({ length: 120 }, (_, i) => `w${(i * 7919) % 1000}x`)
  const changed = words.map((each, i) => (i % 40 === 39 ? 'other' : each)).join(' ')
  expect(knowing([words.join(' ')], { words: 50, similarity: 0.8 }).find(changed)).toMatch(/^\d\d % like held-out t0$/)
  expect(knowing([words.join(' ')], { words: 50, similarity: 1 }).find(changed)).toBeNull()
})

test('packs with runs of different lengths are compared side by side', () => {
  const [short, long] = ['alpha', 'omega'].map((name) => Array.from({ length: 20 }, (_, i) => `${name}${i}x`).join(' '))
  const packs = [
    makePack('one', [{ id: 'a', instruction: short ?? '' }], 8),
    makePack('two', [{ id: 'b', instruction: long ?? '' }], 12),
  ]
  const known = new Contamination(packs, { words: 12, similarity: 0.8 })
  expect(known.find(`so ${short}`)).toContain('one a')
  expect(known.find(`so ${long}`)).toContain('two b')
})
