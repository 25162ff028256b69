import fc from 'fast-check'
import { expect, test } from 'vitest'
import { list, makeGguf, number, string, tiny, weightNamed, weightsOf } from '../../test/make-gguf.ts'
import { GgufError, readFloats, readGguf } from './gguf.ts'

const whole = makeGguf({ ...tiny, layers: 1, width: 32, inner: 32 })

test.each(['f32', 'f16', 'bf16', 'q8_0'] as const)('numbers come back as close as %s keeps them', (kind) => {
  const shape = { ...tiny, kind }
  const { tensors } = readGguf(makeGguf(shape))
  for (const [name, rows, columns] of weightsOf(shape)) {
    const tensor = tensors.get(name)
    if (!tensor) throw new Error(`${name} is missing`)
    const out = new Float32Array(rows * columns)
    readFloats(tensor, out)
    const expected = weightNamed(name, rows, columns)
    const worst = Math.max(...expected.map((value, i) => Math.abs(value - (out[i] as number))))
    expect(worst).toBeLessThan(rows === 1 || kind === 'f32' ? 1e-9 : 0.01)
  }
})

test('metadata has its types', () => {
  const flag = Buffer.from([7, 0, 0, 0, 1])
  const { metadata } = readGguf(makeGguf(tiny, { flag, lists: list(8, []), word: string('ü'), many: number(4e9) }))
  expect(Object.fromEntries(['flag', 'lists', 'word', 'many'].map((key) => [key, metadata.get(key)]))).toEqual({
    flag: true,
    lists: [],
    word: 'ü',
    many: 4e9,
  })
})

test('a file that ends too early is said to', () => {
  for (const length of [0, 3, 8, 30, 500, 4000, whole.length - 1]) {
    expect(() => readGguf(whole.subarray(0, length))).toThrow(GgufError)
  }
})

test('a header that would fill the memory is refused', () => {
  const long = string('x'.repeat(4_000_000))
  const texts = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`text ${i}`, long]))
  expect(() => readGguf(makeGguf(tiny, texts))).toThrow(/a header of at most 32000000 bytes/)
})

test('whatever bytes are wrong, it is read or refused', () => {
  const wrong = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(wrong, (changes) => {
      const file = Buffer.from(whole)
      // Most of a file is numbers; changes to its header are more interesting.
      for (const [at, byte] of changes) file[at % 6000] = byte
      try {
        readGguf(file)
      } catch (error) {
        expect(error).toBeInstanceOf(GgufError)
      }
    }),
  )
})
