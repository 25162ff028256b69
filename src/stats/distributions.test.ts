import { expect, test } from 'vitest'
import { betaCdf, betaQuantile, logGamma, studentCdf, studentQuantile } from './distributions.ts'

test('the gamma function is a factorial', () => {
  expect(Math.exp(logGamma(11))).toBeCloseTo(3_628_800, 3)
  expect(Math.exp(logGamma(0.5))).toBeCloseTo(Math.sqrt(Math.PI), 12)
})

test.each([
  // Beta(1, b) and Beta(a, 1) have closed forms; I(0.5; 2, 3) = 11/16.
  [0.3, 1, 5, 1 - 0.7 ** 5],
  [0.3, 4, 1, 0.3 ** 4],
  [0.5, 2, 3, 11 / 16],
  [0.5, 400, 400, 0.5],
])('betaCdf(%f, %f, %f) is %f', (x, a, b, value) => {
  expect(betaCdf(x, a, b)).toBeCloseTo(value, 12)
})

test('a quantile undoes the distribution, at the ends too', () => {
  for (const [a, b] of [
    [1, 5],
    [0.5, 6],
    [3.2, 0.7],
    [40, 60],
    [2000, 3],
    [1e5, 1e5],
  ] as const)
    for (const share of [0.0005, 0.025, 0.5, 0.975, 0.9995])
      expect(betaCdf(betaQuantile(share, a, b), a, b)).toBeCloseTo(share, 9)
  expect(betaQuantile(0, 2, 2)).toBe(0)
  expect(betaQuantile(1, 2, 2)).toBe(1)
})

test.each([
  // From standard textbook tables.
  [1, 12.706],
  [2, 4.303],
  [4, 2.776],
  [12, 2.179],
  [30, 2.042],
  [88, 1.987],
  [10_000, 1.96],
])('the two-sided 95 %% point of Student with %i degrees of freedom is %f', (freedom, point) => {
  expect(studentQuantile(0.975, freedom)).toBeCloseTo(point, 3)
  expect(studentQuantile(0.025, freedom)).toBeCloseTo(-point, 3)
  expect(studentCdf(studentQuantile(0.8, freedom), freedom)).toBeCloseTo(0.8, 9)
})
