import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeNestedOptions, describeOptions } from './describe-options.ts'

test('an option is described with its type, default and description; required ones come first', () => {
  const options = z.strictObject({
    most: z.int().positive().default(12).describe('The most that are kept'),
    share: z.number().min(0).max(1).optional(),
    how: z.enum(['drop', 'cut']).default('cut'),
    files: z.union([z.string(), z.array(z.string())]).optional(),
    path: z.string().transform((path) => path.length),
  })
  expect(describeOptions(options)).toEqual([
    { name: 'path', type: 'string', default: null, required: true, description: '' },
    { name: 'most', type: 'integer above 0', default: '12', required: false, description: 'The most that are kept' },
    { name: 'share', type: 'number from 0 up to 1', default: null, required: false, description: '' },
    { name: 'how', type: '"drop" | "cut"', default: '"cut"', required: false, description: '' },
    { name: 'files', type: 'string | list of string', default: null, required: false, description: '' },
  ])
})

test('options of several forms are all listed, each once', () => {
  const either = z.union([z.strictObject({ a: z.string() }), z.strictObject({ a: z.string(), b: z.number() })])
  expect(describeOptions(either).map(({ name }) => name)).toEqual(['a', 'b'])
  expect(describeOptions(z.strictObject({}))).toEqual([])
})

test('the keys of an option that is an object are listed below it', () => {
  const options = z.strictObject({
    last: z.string().optional(),
    answer: z.strictObject({ field: z.string(), check: z.enum(['text', 'number']).default('text') }).optional(),
  })
  expect(describeOptions(options).map(({ name }) => name)).toEqual(['last', 'answer'])
  expect(describeNestedOptions(options)).toMatchObject([
    { name: 'last' },
    { name: 'answer', type: 'object' },
    { name: 'answer.field', type: 'string', required: true },
    { name: 'answer.check', type: '"text" | "number"', default: '"text"' },
  ])
})
