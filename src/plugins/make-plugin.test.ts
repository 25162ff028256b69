import { expect, test } from 'vitest'
import { z } from 'zod'
import { tellingIssue } from './make-plugin.ts'

const schema = z.strictObject({
  model: z.string(),
  sandbox: z.union([z.string(), z.strictObject({ name: z.string(), size: z.number().optional() })]).optional(),
})

test.each([
  ['an unknown name before one that is missing', { modle: 'x' }, '', /modle/],
  ['what is wrong with the form it came closest to', { model: 'x', sandbox: { name: 3 } }, 'sandbox.name', /string/],
  ['all forms where it is like none', { model: 'x', sandbox: 3 }, 'sandbox', /expected string or object/],
])('%s', (_, value, path, message) => {
  const issue = tellingIssue(schema.safeParse(value).error?.issues ?? [])
  expect(issue?.path.join('.')).toBe(path)
  expect(issue?.message).toMatch(message)
})
