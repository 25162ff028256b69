import { expect, test } from 'vitest'
import { renderPassAtK } from './progress.ts'

const upTo = (most: number) => Array.from({ length: most - 1 }, (_, i) => [i + 2, 0.5] as const)

test('few attempts are all shown, of many every doubling and the most', () => {
  expect(renderPassAtK([])).toBe('-')
  expect(renderPassAtK([[2, 0.7]])).toBe('2: 0.700')
  expect(renderPassAtK(upTo(7)).match(/\d+:/g)).toEqual(['2:', '3:', '4:', '5:', '6:', '7:'])
  expect(renderPassAtK(upTo(20)).match(/\d+:/g)).toEqual(['2:', '4:', '8:', '16:', '20:'])
})
