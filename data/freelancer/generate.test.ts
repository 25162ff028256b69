import { expect, test } from 'vitest'
import pipeline from './generate.ts'

const row = {
  id: 'p',
  source: 's',
  fields: {
    title: 'Sum my invoices',
    description: 'One line for each client, please.',
    attachments: [{ name: 'in.csv', text: 'a,1\n' }],
    delivered: { name: 'out.csv', text: 'a,1\n' },
  },
}

test('a post becomes work that a model judges, without what was delivered', () => {
  const at = { options: { kind: 'post' as const }, seed: 1, inputDir: undefined }
  const [post] = pipeline.split?.(row, at as never) ?? []
  expect(post?.fields).toEqual({
    post: "Sum my invoices\n\nOne line for each client, please.\n\nThe client's file in.csv:\n\n~~~\na,1\n~~~",
  })
  const asks = ['file', 'post'].map(
    (kind) => typeof pipeline.needsModel === 'function' && pipeline.needsModel({ kind } as never),
  )
  expect(asks).toEqual([false, true])
})
