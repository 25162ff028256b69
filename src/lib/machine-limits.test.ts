import { expect, test } from 'vitest'
import { readMachineLimits, refusedForks } from './machine-limits.ts'

test('finds the limits of this process', () => {
  const limits = readMachineLimits()
  const files = limits.find(({ name }) => name === 'ulimit -n')
  expect(files?.free).toBeGreaterThan(0)
  expect(files?.free).toBeLessThan(files?.limit ?? 0)
  expect(limits.map(({ name }) => name)).toContain('kernel.pid_max')
  for (const { limit, free } of limits) expect(free).toBeLessThanOrEqual(limit)
  expect(refusedForks()).toBeGreaterThanOrEqual(0)
})
