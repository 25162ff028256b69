import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeColumn, readColumn } from './json-columns.ts'

const throughText = (values: readonly unknown[]) => {
  const read = readColumn(JSON.parse(JSON.stringify(makeColumn(values))))
  return values.map((_, nth) => read(nth))
}

test('a column returns the values that were written, with their keys in the same order', () => {
  const value = fc.oneof(fc.constantFrom(null, 1, 'a', [], {}), fc.jsonValue())
  const alike = fc.record({ id: fc.uuid(), end: value, spans: fc.record({ from: value, to: fc.string() }) })
  const values = fc.oneof(fc.array(value, { minLength: 1 }), fc.array(alike, { minLength: 1 }))
  fc.assert(
    fc.property(values, (given) => {
      expect(JSON.stringify(throughText(given))).toBe(JSON.stringify(given))
    }),
  )
})

test('keys that mean something to JavaScript are keys like others', () => {
  const given = ['a', 'b', 'c'].map((each) => JSON.parse(`{"__proto__": {"x": "${each}"}, "constructor": "${each}"}`))
  expect(JSON.stringify(throughText(given))).toBe(JSON.stringify(given))
})

test('what all values share is written once', () => {
  const given = Array.from({ length: 100 }, (_, nth) => ({
    nth,
    end: { kind: 'scored', rewards: { reward: nth % 2 } },
  }))
  const text = JSON.stringify(makeColumn(given))
  expect(text.split('scored')).toHaveLength(3)
  expect(throughText(given)).toEqual(given)
})
