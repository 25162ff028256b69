import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { PlaceSort } from './place-sort.ts'

const dir = mkdtempSync(join(tmpdir(), 'ot-agent-test-'))
afterAll(() => rmSync(dir, { recursive: true }))

let sorts = 0
const newSort = (heapSize: number) => new PlaceSort(join(dir, String(sorts++)), heapSize)
async function collect(things: AsyncIterable<object>): Promise<object[]> {
  const seen: object[] = []
  for await (const thing of things) seen.push(thing)
  return seen
}

test('every range of places is in order, whatever order things are added in', async () => {
  const thing = fc.record({
    text: fc.string({ unit: 'grapheme' }),
    bytes: fc.uint8Array(),
    n: fc.bigInt(),
    none: fc.constant(null),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(thing, { maxLength: 40 }),
      fc.integer({ min: 1, max: 9 }),
      fc.nat(),
      async (things, heapSize, seed) => {
        const sort = newSort(heapSize)
        const order = things.map((_, place) => place).sort((a, b) => ((a * 31 + seed) % 17) - ((b * 31 + seed) % 17))
        for (const place of order) await sort.add(place, things[place]!)
        const cut = seed % (things.length + 1)
        const seen = [...(await collect(sort.range(0, cut))), ...(await collect(sort.range(cut, things.length)))]
        expect(seen.map((each) => ({ ...each, bytes: new Uint8Array((each as { bytes: Uint8Array }).bytes) }))).toEqual(
          things,
        )
      },
    ),
    { numRuns: 60 },
  )
})

test('anything beyond the buffer goes through the disk', async () => {
  const sort = newSort(3)
  const text = 'x'.repeat(3_000_000)
  for (let place = 19; place >= 0; place--) await sort.add(place, { place, text })
  expect((await collect(sort.range(5, 12))).map((thing) => (thing as { place: number }).place)).toEqual([
    5, 6, 7, 8, 9, 10, 11,
  ])
})
