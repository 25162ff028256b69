import { expect, test } from 'vitest'
import { failed, someRecord } from '../../../test/records.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { makeLiveStats } from '../../stats/live-stats.ts'
import { makeProgress, renderLine, renderTable } from './progress.ts'
import { makeTally } from './tally.ts'

test('a standing counts what earlier runs finished, who runs, and when it will end', () => {
  let now = 0
  const liveStats = makeLiveStats()
  liveStats.add(someRecord({ name: 'earlier' }))
  const tally = makeTally(5, liveStats, () => now)
  tally.started('a')
  tally.started('b')
  now = 10_000
  liveStats.add(someRecord({ name: 'a' }))
  tally.ended('a')
  expect(tally.standing()).toMatchObject({ done: 2, total: 5, running: [{ name: 'b', sinceMs: 0 }], etaSec: 30 })
})

test('a table shows failures by boundary and fits the terminal', () => {
  const liveStats = makeLiveStats()
  liveStats.add(someRecord({ name: 'x', end: failed({ boundary: 'sandbox' }) }))
  const tally = makeTally(2, liveStats, () => 0)
  tally.started('a-very-long-name-of-a-trial__abcdefg')
  const lines = renderTable(tally.standing(), 65_000, 60)
  expect(lines).toHaveLength(3)
  expect(lines[1]).toMatch(/^1\/2 +1 +- +sandbox 1/)
  expect(lines[2]).toContain('__abcdefg 1m05s')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(60)
})

test('a line leaves out what is not known', () => {
  expect(renderLine(makeTally(3, makeLiveStats()).standing())).toBe('0/3 done, running 0')
})

test('a terminal is redrawn in place, anything else gets lines, and quiet gets nothing', () => {
  const write = (isTTY: boolean, quiet: boolean) => {
    const written: string[] = []
    const liveStats = makeLiveStats()
    const progress = makeProgress(
      makeTally(1, liveStats),
      { isTTY, columns: 80, write: (text) => written.push(text) },
      quiet,
    )
    const record = someRecord({ name: 'done' })
    liveStats.add(record)
    progress.ended(record)
    progress.stop()
    return written
  }
  expect(write(true, false).at(-1)).toContain('\u001b[')
  expect(write(false, false).join('')).toMatch(/^0\/1 done.*\ndone: scored .*\n1\/1 done/)
  expect(write(false, true)).toEqual([])
})

test('a terminal that does not tell its width is taken for a usual one', () => {
  const written: string[] = []
  const screen = { isTTY: true, columns: 0, write: (text: string) => written.push(text) }
  makeProgress(makeTally(1, makeLiveStats()), screen, false).stop()
  expect(written[0]).toContain('ETA')
})

test('counts and durations are short', () => {
  expect([999, 12_345, 4_560_000].map(renderCount)).toEqual(['999', '12.3k', '4.56M'])
  expect([7, 125, 11_520].map(renderDuration)).toEqual(['7s', '2m05s', '3h12m'])
})
