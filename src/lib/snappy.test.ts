import fc from 'fast-check'
import { snappyUncompress } from 'hyparquet'
import { expect, test } from 'vitest'
import { snappyCompress } from './snappy.ts'

function roundTrip(input: Uint8Array): Uint8Array {
  const output = new Uint8Array(input.length)
  if (input.length > 0) snappyUncompress(snappyCompress(input), output)
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
