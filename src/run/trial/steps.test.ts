import { expect, test } from 'vitest'
import { meanRewards, reaches } from './steps.ts'

test('a gate holds when every named reward is reached', () => {
  expect(reaches({ reward: 1, style: 0.2 }, { reward: 1 })).toBe(true)
  expect(reaches({ reward: 1, style: 0.2 }, { reward: 1, style: 0.5 })).toBe(false)
})

test('a reward that was not given is below every minimum, also a negative one', () => {
  expect(reaches({ reward: 1 }, { style: -100 })).toBe(false)
  expect(reaches(null, { reward: 0 })).toBe(false)
})

test('without a gate every result passes', () => {
  expect(reaches(null, undefined)).toBe(true)
})

test('the mean counts a reward a step does not name as 0', () => {
  expect(meanRewards([{ reward: 1 }, { reward: 0, style: 1 }])).toEqual({ reward: 0.5, style: 0.5 })
  expect(meanRewards([])).toBeNull()
})
