import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventTooLong, makeEventReader } from './sse.ts'

function read(parts: readonly (string | Uint8Array)[]): string[] {
  const events: string[] = []
  const push = makeEventReader((data) => events.push(data))
  for (const part of parts) push(typeof part === 'string' ? Buffer.from(part) : part)
  return events
}

test('data lines of one event are joined; names, ids, comments and retries are skipped', () => {
  expect(read([': hi\nevent: x\nid: 1\nretry: 5\ndata: a\ndata:b\ndata\n\n', 'data:  two spaces\n\n\n\n'])).toEqual([
    'a\nb',
    ' two spaces',
  ])
})

test('an unfinished event is not reported', () => {
  expect(read(['data: a\n\ndata: b\n'])).toEqual(['a'])
})

test('events come out the same however the bytes are cut and whatever ends their lines', () => {
  const line = fc
    .string({ unit: 'binary', maxLength: 20 })
    .map((text) => text.replaceAll(/[\r\n\ufeff\ud800-\udfff]/g, ''))
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.infiniteStream(fc.nat(9)),
      (lines, end, cuts) => {
        const bytes = Buffer.from(lines.map((text) => `data: ${text}${end}${end}`).join(''))
        const parts: Uint8Array[] = []
        for (let at = 0; at < bytes.length; ) {
          const size = 1 + (cuts.next().value ?? 0)
          parts.push(bytes.subarray(at, at + size))
          at += size
        }
        // A final carriage return may be half a line end: the last event then waits for what follows.
        const expected = end === '\r' ? lines.slice(0, -1) : lines
        expect(read(parts).slice(0, expected.length)).toEqual(expected)
      },
    ),
  )
})

test('bytes that are not UTF-8 are replaced', () => {
  expect(read([Buffer.from([...Buffer.from('data: a'), 0xff, ...Buffer.from('b\n\n')])])).toEqual(['a\ufffdb'])
})

test('an event without an end is refused before it fills the memory', () => {
  const push = makeEventReader(() => {}, 100)
  expect(() => {
    for (let i = 0; i < 20; i++) push(Buffer.from('data: xxxxxxxxxx\n'))
  }).toThrow(EventTooLong)
  expect(() => makeEventReader(() => {}, 100)(Buffer.from('x'.repeat(101)))).toThrow(EventTooLong)
})
