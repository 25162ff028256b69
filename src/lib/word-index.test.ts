import { expect, test } from 'vitest'
import { wordHashes } from './word-hashes.ts'
import { WordIndex } from './word-index.ts'

test('rows with all words are found, on disk and in memory, in any case and order', () => {
  const index = new WordIndex()
  try {
    const rows = Array.from(
      { length: 9000 },
      (_, i) => `Row number${i} has color${i % 7}, size${i % 11} and Size${i % 11} again`,
    )
    for (const row of rows) index.add(wordHashes(row))
    const found = (text: string) => [...(index.find(text) ?? []).entries()].flatMap(([row, has]) => (has ? [row] : []))
    expect(found('number4095')).toEqual([4095])
    expect(found('NUMBER4096, again')).toEqual([4096])
    expect(found('number8999')).toEqual([8999])
    expect(found('has')).toHaveLength(9000)
    expect(found('size3 color2')).toEqual([...rows.keys()].filter((i) => i % 7 === 2 && i % 11 === 3))
    expect(found('number1 number2')).toEqual([])
    expect(found('missing')).toEqual([])
    expect(index.find(' ,.')).toBe(null)
  } finally {
    index.close()
  }
})

test('words beyond ASCII are found, and a query of very many words', () => {
  const index = new WordIndex()
  const many = Array.from({ length: 300 }, (_, i) => `w${i}`).join(' ')
  for (const row of ['Grüße 漢字', many]) index.add(wordHashes(row))
  expect([...(index.find('grüße') ?? [])]).toEqual([1, 0])
  expect([...(index.find('漢字') ?? [])]).toEqual([1, 0])
  expect([...(index.find(many) ?? [])]).toEqual([0, 1])
})
