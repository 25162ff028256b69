import { expect, test } from 'vitest'
import { shape } from './shape.ts'

const options = { language: 'python', maxRating: 0, others: new Map<string, string>() } as const
const fields = {
  ...{ id: '1/A', title: 'Sum', description: 'Print the sum.', time_limit: 1, input_mode: 'stdio' },
  examples: [{ input: '1 2', output: '3' }],
  official_tests: [
    { input: '1 2\r\n', output: '3\r\n' },
    { input: '2\r\n2\r\n', output: '4\r\n' },
  ],
}

test('official tests lose the judge’s line endings, so that examples are recognized', () => {
  const { fields: made } = shape({ id: 'x', source: 's', fields }, options)
  expect(made.tests).toEqual([
    { input: '1 2\n', output: '3\n' },
    { input: '2\n2\n', output: '4\n' },
  ])
})
