import fc from 'fast-check'
import { expect, test } from 'vitest'
import { intervalPlot } from './interval-plot.ts'
import { bars, binsOf, escapeMarkup, histogram, short } from './plot.ts'

const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 })

test('every value is counted in the one bin that holds it', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(anyNumber, fc.integer({ min: -1000, max: 1000 })), { minLength: 1 }), (values) => {
      const bins = binsOf(values)
      expect(bins.reduce((sum, { count }) => sum + count, 0)).toBe(values.length)
      expect(bins.length).toBeLessThanOrEqual(30)
      const [low, high] = [Math.min(...values), Math.max(...values)]
      const slack = (high - low) * 1e-6 + 1e-6
      expect(bins[0]!.from).toBeLessThanOrEqual(low + slack)
      expect(bins.at(-1)!.to).toBeGreaterThanOrEqual(high - slack)
    }),
  )
})

test('whole numbers get bins of whole width', () => {
  expect(binsOf([1, 2, 2, 5])).toEqual([
    { from: 1, to: 2, count: 1 },
    { from: 2, to: 3, count: 2 },
    { from: 3, to: 4, count: 0 },
    { from: 4, to: 5, count: 0 },
    { from: 5, to: 6, count: 1 },
  ])
  expect(binsOf([7])).toEqual([{ from: 7, to: 8, count: 1 }])
  expect(binsOf([])).toEqual([])
})

test('values too close to tell apart share a bin', () => {
  for (const values of [
    [0, -6.4e-323],
    [-1.1e-167, -1.1e-167],
    [1e12, 1e12 + 1e-4],
  ])
    expect(binsOf(values).reduce((sum, { count }) => sum + count, 0)).toBe(2)
})

test('no text breaks out of its place in the markup', () => {
  const hostile = '</text><script>alert(1)</script>\u0000\u001b"\'&'
  for (const svg of [
    bars([{ label: hostile, value: 1 }], { title: hostile, axis: hostile }),
    histogram([1, 2], { title: hostile, axis: hostile }),
  ]) {
    expect(svg).not.toContain('<script')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(svg).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/)
    expect(svg.match(/<text/g)?.length).toBe(svg.match(/<\/text>/g)?.length)
  }
  expect(escapeMarkup('a<b>&"\'')).toBe('a&#60;b&#62;&#38;&#34;&#39;')
})

test('plots without values say so', () => {
  expect(histogram([], { title: 't', axis: 'a' })).toContain('no values')
  expect(bars([], { title: 't', axis: 'a' })).toContain('no values')
})

test('numbers on an axis are short', () => {
  expect([0, 12, 0.125, 1234, 5_600_000, 2e9, -1500].map(short)).toEqual([
    '0',
    '12',
    '0.125',
    '1.23k',
    '5.6M',
    '2G',
    '-1.5k',
  ])
})

test('titles and axis names are centred on the axes, and long titles stay inside', () => {
  const text = { title: 'Turns', axis: 'turns' }
  const places = (svg: string, said: string) =>
    [...svg.matchAll(/<text x="([\d.]+)"[^>]*>([^<]*)</g)]
      .filter(([, , each]) => each === said)
      .map(([, x]) => Number(x))
  const bar = bars([{ label: 'a', value: 1 }], text)
  const from = Number(/<rect x="([\d.]+)"/.exec(bar)?.[1])
  const wide = Number(/<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"/.exec(bar)?.[1])
  expect(places(bar, 'Turns')).toEqual([from + wide / 2])
  expect(places(bar, 'turns')).toEqual([from + wide / 2])
  const counts = histogram([1, 2], text)
  const grid = /<line x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"/.exec(counts)
  expect(places(counts, 'Turns')).toEqual([(Number(grid?.[1]) + Number(grid?.[2])) / 2])
  const ends = (svg: string) => [places(svg, '0')[0] ?? 0, places(svg, '100')[0] ?? 0]
  const intervals = intervalPlot([{ label: 'a', mean: 0.5, low: 0, high: 1 }], text)
  expect(places(intervals, 'Turns')).toEqual([(ends(intervals)[0]! + ends(intervals)[1]!) / 2])
  const long = 'x'.repeat(60)
  expect(places(bars([], { title: long, axis: '' }), long)[0]! + 60 * 3.5).toBeLessThanOrEqual(640)
})
