import fc from 'fast-check'
import { snappyUncompress as otherUncompress } from 'hyparquet'
import { expect, test } from 'vitest'
import { snappyCompress, snappyUncompress } from './snappy.ts'

function roundTrip(input: Uint8Array): Uint8Array {
  const compressed = snappyCompress(input)
  const output = new Uint8Array(input.length)
  if (input.length > 0) otherUncompress(compressed, output)
  expect(Buffer.compare(snappyUncompress(compressed, input.length), output)).toBe(0)
  return output
}

const pieces = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.nat(5000).map((length) => new Uint8Array(length).fill(length)),
  ),
  { maxLength: 20 },
)

test('another reader gets the bytes back, however they repeat', () => {
  fc.assert(
    fc.property(pieces, fc.nat(20), (parts, again) => {
      const once = Buffer.concat(parts)
      const input = Buffer.concat([once, ...Array.from({ length: again }, () => once)])
      expect(Buffer.compare(roundTrip(input), input)).toBe(0)
    }),
  )
})

test.each([0, 1, 4, 15, 16, 17, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 65_537, 1 << 20, (1 << 24) + 3])(
  '%i bytes come back, alike and all different',
  (length) => {
    const different = Uint8Array.from({ length }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 24)
    for (const input of [new Uint8Array(length), different]) {
      expect(Buffer.compare(roundTrip(input), input)).toBe(0)
    }
  },
)

test('text gets smaller', () => {
  const input = Buffer.from('the quick brown fox jumps over the lazy dog\n'.repeat(1000))
  expect(snappyCompress(input).length).toBeLessThan(input.length / 10)
  expect(snappyCompress(new Uint8Array(input.buffer.slice(0), 0, 10)).length).toBeGreaterThan(10)
})

test('both readers decode damaged data the same way, or ours refuses it', () => {
  fc.assert(
    fc.property(pieces, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }), (parts, changes) => {
      const input = Buffer.concat(parts)
      const compressed = Buffer.from(snappyCompress(input))
      for (const [at, byte] of changes) compressed[at % compressed.length] = byte
      const mine = attempt(() => snappyUncompress(compressed, input.length))
      if (mine === null) return
      const theirs = new Uint8Array(input.length)
      otherUncompress(compressed, theirs)
      expect(Buffer.compare(mine, theirs)).toBe(0)
    }),
  )
})

test.each([
  ['a size it cannot have', Buffer.from([0xff, 0xff, 0xff, 0xff, 7, 0]), 0x7fffffff],
  ['another size than the page says', snappyCompress(Buffer.from('abcdefgh')), 9],
  ['a literal of a negative length', Buffer.from([8, 63 << 2, 0xf0, 0xff, 0xff, 0xff, 1, 2, 3]), 8],
  ['a copy from before the start', Buffer.from([8, 0, 1, (3 << 2) | 2, 9, 0]), 8],
  ['nothing', new Uint8Array(0), 4],
])('%s is refused at once', (_, input, size) => {
  expect(() => snappyUncompress(input, size)).toThrow('snappy data is damaged')
})

function attempt(read: () => Uint8Array): Uint8Array | null {
  try {
    return read()
  } catch {
    return null
  }
}
