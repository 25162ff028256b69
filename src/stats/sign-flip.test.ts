import { expect, test } from 'vitest'
import { makeRandom } from '../lib/random.ts'
import { signFlipTest } from './sign-flip.ts'

const random = () => makeRandom(1, 'signs').next

test('Darwin has 863 of 32,768 sign patterns at least as extreme in his 15 pairs of plants', () => {
  // Fisher, The Design of Experiments, section 21: differences in eighths of an inch.
  const plants = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
  expect(signFlipTest(plants, random())).toEqual({ p: (2 * 863) / 2 ** 15, exact: true })
})

test.each([
  // All have the same sign: 2 of 2^n patterns.
  [4, 0.125],
  [5, 0.0625],
  [6, 0.03125],
])('%i tasks that all agree have p = %f', (tasks, p) => {
  expect(signFlipTest(new Array(tasks).fill(1), random()).p).toBe(p)
})

test('tasks without a difference change nothing, and no difference at all is p = 1', () => {
  const some = [0.2, -0.1, 0.4, 0.3]
  expect(signFlipTest([...some, 0, 0, 0], random())).toEqual(signFlipTest(some, random()))
  expect(signFlipTest([0, 0, 0], random())).toEqual({ p: 1, exact: true })
  expect(signFlipTest([], random())).toEqual({ p: 1, exact: true })
})

test('many tasks are sampled, with the same result each time and close to the exact one', () => {
  // 25 of 40 signs are positive: the binomial tail, two-sided, is 0.1539.
  const differences = Array.from({ length: 40 }, (_, i) => (i < 25 ? 1 : -1))
  const found = signFlipTest(differences, random())
  expect(found).toEqual(signFlipTest(differences, random()))
  expect(found.exact).toBe(false)
  expect(Math.abs(found.p - 0.1539)).toBeLessThan(0.01)
})
