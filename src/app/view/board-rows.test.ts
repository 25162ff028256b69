import { expect, test } from 'vitest'
import { intervalOf, rankRuns, sizeOf } from './board-rows.ts'

const run = (solved: number, tasks = 40) =>
  new Map(Array.from({ length: tasks }, (_, i) => [`task-${i}`, { mean: i < solved ? 1 : 0, trials: 3 }] as const))

test('runs that differ at many tasks have ranks of their own, those that cannot be distinguished share one', async () => {
  expect(await rankRuns([run(38), run(20), run(19), run(2)])).toEqual([1, 2, 2, 4])
})

test('runs without a task in common are not ranked against each other', async () => {
  const elsewhere = new Map([['other', { mean: 1, trials: 3 }]])
  expect(await rankRuns([run(40), elsewhere, run(0)])).toEqual([1, 1, 2])
})

test('one run is first, and none has no rank', async () => {
  expect([await rankRuns([run(3)]), await rankRuns([])]).toEqual([[1], []])
})

test('an interval stays between 0 and 1, also without trials', () => {
  const { low, high } = intervalOf(run(40), 1, 0)
  expect([low > 0.8 && low < 1, high]).toEqual([true, 1])
  expect(intervalOf(undefined, 0.98, 0.05)).toEqual({ low: expect.closeTo(0.882), high: 1 })
  expect(intervalOf(undefined, 0.5, null)).toEqual({ low: 0, high: 1 })
})

test.each([
  ['org/Qwen3-8B', 8],
  ['org/Qwen3-0.6B-sft', 0.6],
  ['llama_70b', 70],
  ['org/SmolLM2-360M', 0.36],
  ['org/Qwen3-30B-A3B', 30],
  ['8b', 8],
  ['org/gpt-4o', null],
  ['org/tb2', null],
  ['org/abc8bd', null],
  ['', null],
])('%s has %s billion parameters', (name, size) => expect(sizeOf(name)).toBe(size))
