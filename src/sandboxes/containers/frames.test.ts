import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Frames, UntilMark } from './frames.ts'

function cut(data: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = []
  let at = 0
  for (let i = 0; at < data.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    parts.push(data.subarray(at, at + size))
    at += size
  }
  return parts
}

const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 })

test('frames yield both streams, however they are cut', () => {
  const frame = fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 }))
  fc.assert(
    fc.property(fc.array(frame), sizes, (frames, sizes) => {
      const wire = Buffer.concat(
        frames.flatMap(([channel, data]) => {
          const header = Buffer.from([channel, 0, 0, 0, 0, 0, 0, 0])
          header.writeUInt32BE(data.length, 4)
          return [header, Buffer.from(data)]
        }),
      )
      const got = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) }
      const reader = new Frames((channel, chunk) => {
        got[channel] = Buffer.concat([got[channel], chunk])
      })
      for (const part of cut(wire, sizes)) reader.feed(part)
      const sent = (wanted: number) =>
        Buffer.concat(frames.filter(([channel]) => channel === wanted).map(([, data]) => Buffer.from(data)))
      expect(got).toEqual({ stdout: sent(1), stderr: sent(2) })
    }),
  )
})

test('everything before a mark is output, and nothing of the mark', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[ab]{0,60}$/), sizes, (text, sizes) => {
      let out = ''
      const reader = new UntilMark(Buffer.from('aabX'), (chunk) => {
        out += chunk
      })
      for (const part of cut(Buffer.from(`${text}aabX:7.`), sizes)) reader.feed(part)
      expect([out, reader.found, reader.tail]).toEqual([text, true, ':7.'])
    }),
  )
})

test('output that only begins like the mark is output in the end', () => {
  let out = ''
  const reader = new UntilMark(Buffer.from('MARK'), (chunk) => {
    out += chunk
  })
  reader.feed(Buffer.from('xMAR'))
  reader.end()
  expect([out, reader.found]).toEqual(['xMAR', false])
})
