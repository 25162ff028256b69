import { expect, test } from 'vitest'
import { makeAtOnce, type Try } from './at-once.ts'

function workplace(asked: number) {
  const said: string[] = []
  const sizes: number[] = []
  const clock = { ms: 0 }
  const atOnce = makeAtOnce({
    asked,
    resize: (count) => sizes.push(count),
    say: (line) => said.push(line),
    nowMs: () => clock.ms,
  })
  return { atOnce, said, sizes, clock }
}

test('a shortage halves the number once, however many places it shows up in', () => {
  const { atOnce, said, sizes, clock } = workplace(8)
  for (let i = 0; i < 5; i++) atOnce.met('processes')
  expect(sizes).toEqual([4])
  expect(said).toEqual(['this machine ran out of processes with 8 concurrent trials; now running 4 at a time'])
  clock.ms = 20_000
  atOnce.met('memory')
  expect(sizes).toEqual([4, 2])
})

test('a try that began before the reduction does not reduce the number again', () => {
  const { atOnce, sizes } = workplace(8)
  const tries = Array.from({ length: 8 }, () => atOnce.begin())
  for (const each of tries) expect(each.failed([])).toBe(1)
  expect(sizes).toEqual([4])
  expect(atOnce.begin().failed(tries.slice(0, 1))).toBe(2)
  expect(sizes).toEqual([4, 2])
})

test('a trial that runs out even alone fails after a few tries, and the next ones at once', () => {
  const { atOnce } = workplace(1)
  const earlier: Try[] = []
  const waits = Array.from({ length: 4 }, () => {
    const each = atOnce.begin()
    const waitSec = each.failed(earlier)
    earlier.push(each)
    return waitSec
  })
  expect(waits).toEqual([1, 2, 4, null])
  expect(atOnce.begin().failed([])).toBe(null)
  atOnce.begin().ended()
  expect(atOnce.begin().failed([])).toBe(1)
})

test('successful trials raise the number again one by one, never above the requested one', () => {
  const { atOnce, said } = workplace(4)
  atOnce.met('processes')
  expect(atOnce.limit).toBe(2)
  for (let i = 0; i < 50; i++) atOnce.begin().ended()
  expect(atOnce.limit).toBe(4)
  expect(said).toHaveLength(1)
})

test('the requested number may change while trials run', () => {
  const { atOnce, sizes } = workplace(8)
  atOnce.ask(6)
  atOnce.met('memory')
  atOnce.ask(100)
  expect(sizes).toEqual([6, 3, 3])
})
