import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, digestJson, rowDigest } from './digest-json.ts'

test('the order of keys does not matter, the order of lists does', () => {
  expect(canonicalJson({ b: 1, a: [2, { d: null, c: undefined }] })).toBe('{"a":[2,{"d":null}],"b":1}')
  expect(digestJson([1, 2])).not.toBe(digestJson([2, 1]))
})

test('JSON that went through a file has the same digest', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const read = JSON.parse(JSON.stringify(value))
      expect(digestJson(read)).toBe(digestJson(value))
      expect(JSON.parse(canonicalJson(value))).toEqual(read)
    }),
  )
})

test('what JSON cannot hold still tells rows apart', () => {
  const values = [1n, 2n ** 70n, new Date(0), Uint8Array.of(1), Uint8Array.of(2), Number.NaN, null]
  expect(new Set(values.map((value) => digestJson({ value }))).size).toBe(values.length)
})

test('the digest of a row covers its id, its source and its fields, and nothing else', () => {
  const row = { id: '1', source: 'a', fields: { x: 1 } }
  expect(rowDigest({ ...row, ...{ extra: 1 } })).toBe(rowDigest(row))
  const others = [
    { ...row, id: '2' },
    { ...row, source: 'b' },
    { ...row, fields: { x: 2 } },
  ]
  expect(new Set([row, ...others].map(rowDigest)).size).toBe(4)
})
