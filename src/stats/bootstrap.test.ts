import { expect, test } from 'vitest'
import { makeRandom } from '../lib/random.ts'
import { pairedBootstrap } from './bootstrap.ts'
import { mean, variance } from './interval.ts'

test('draws spread around the mean difference as its standard error says', () => {
  const random = makeRandom(7, 'values')
  const differences = Array.from({ length: 200 }, () => random.next() - 0.3)
  const { draws, low, high } = pairedBootstrap(differences, makeRandom(7, 'draws').next)
  const error = Math.sqrt(variance(differences) / differences.length)
  expect(draws).toHaveLength(10_000)
  expect(mean([...draws])).toBeCloseTo(mean(differences), 2)
  expect(Math.sqrt(variance([...draws])) / error).toBeCloseTo(1, 1)
  expect((high - low) / (2 * 1.96 * error)).toBeCloseTo(1, 1)
})

test('the same seed gives the same draws', () => {
  const once = () => pairedBootstrap([0.1, 0.5, -0.2], makeRandom(1, 'draws').next, 50).draws
  expect(once()).toEqual(once())
})
