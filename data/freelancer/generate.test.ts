import { expect, test } from 'vitest'
import delivered from './delivered.ts'
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

test('a post becomes work that a model judges, without the delivered file', () => {
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

test('a client’s file replaces none of the task’s files, whatever its name', async () => {
  const stage = delivered.make(delivered.options.parse({ pipeline: 'freelancer' }), {} as never)
  const attachments = ['Dockerfile', 'docker-compose.yaml'].map((name) => ({ name, text: `the client's ${name}\n` }))
  const given = { ...row, fields: { ...row.fields, delivered: { name: 'out.csv', text: 'b,2\n' }, attachments } }
  const drafts = stage.run(rows([given]), { seed: 1, signal: new AbortController().signal } as never)
  const draft = (await drafts[Symbol.asyncIterator]().next()).value
  if (!draft || 'drop' in draft) throw new Error(`dropped: ${draft?.detail}`)
  expect(draft.files['environment/Dockerfile']?.data).toContain('COPY files/Dockerfile /app/Dockerfile\n')
  expect(Object.keys(draft.files).filter((path) => path.startsWith('environment/'))).toEqual([
    'environment/Dockerfile',
    'environment/files/Dockerfile',
    'environment/files/docker-compose.yaml',
  ])
})

async function* rows<T>(items: readonly T[]): AsyncGenerator<T, void, void> {
  yield* items
}
