import { expect, test } from 'vitest'
import { holm } from './corrections.ts'

const rounded = (values: readonly number[]) => values.map((value) => Number(value.toFixed(4)))

test('Holm multiplies the least p-value by all, the next by one less, and never descends', () => {
  expect(rounded(holm([0.01, 0.04, 0.03, 0.005]))).toEqual([0.03, 0.06, 0.06, 0.02])
  expect(holm([0.9, 0.8])).toEqual([1, 1])
  expect(holm([])).toEqual([])
})

test('Holm rejects three of the 15 p-values of Benjamini and Hochberg (1995) at 0.05', () => {
  const published = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1,
  ]
  expect(holm(published).filter((p) => p <= 0.05)).toHaveLength(3)
})
