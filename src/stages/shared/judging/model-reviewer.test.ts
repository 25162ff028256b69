import { expect, test } from 'vitest'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import { makeModelReviewer } from './model-reviewer.ts'

const task = {
  instruction: 'Count the lines of x.txt\nand write the number to y.txt.',
  tests: [{ path: 'tests/test.sh', text: '#!/bin/bash\n[ "$(cat y.txt)" = "lines: 3" ]' }],
  reference: { reward: 'full', files: [{ path: '/app/y.txt', text: 'lines: 3\n' }] },
  attempts: [{ reward: '0', files: [{ path: '/app/y.txt', text: '3\n' }] }],
  signal: new AbortController().signal,
}
const said = (agree: boolean, ...quotes: { part: string; text: string }[]) =>
  replies(JSON.stringify({ reason: 'The format is not stated.', quotes, agree }))
const fair = [
  { part: 'instruction', text: 'x.txt and  write the number' },
  { part: 'attempts', text: 'reward: 0' },
]

test('a review has a verdict and quotes, and the same task is reviewed once', async () => {
  const model = clientThat(said(false, ...fair))
  const review = makeModelReviewer(model, await makeTempDir())
  const first = await review(task)
  expect(first).toMatchObject({ agrees: false, reason: 'The format is not stated.', quotes: fair, costUsd: 0.25 })
  expect(await review(task)).toMatchObject({ agrees: false })
  expect(model.asked).toHaveLength(1)
  expect(model.asked[0]?.jsonSchema?.schema).toMatchObject({
    properties: { reason: { maxLength: 800 }, quotes: { maxItems: 6 } },
  })
  const prompt = String(model.asked[0]?.messages[0]?.content)
  for (const shown of ['x.txt', '"lines: 3"', '=== attempt 1\nreward: 0\n--- /app/y.txt\n3\n', 'reward: full'])
    expect(prompt).toContain(shown)
})

test('a quote that is not in the text is refused, and asked for again', async () => {
  const invented = { part: 'tests', text: 'the number to y.txt' }
  const model = clientThat(said(true, invented), said(true, ...fair))
  const review = makeModelReviewer(model, await makeTempDir())
  expect(await review(task)).toMatchObject({ agrees: true, quotes: fair })
  expect(String(model.asked[1]?.messages.at(-1)?.content)).toContain('one that is not in the tests')
})

test('a review that is longer than asked for is read all the same', async () => {
  const quotes = [...fair, ...fair, ...fair, ...fair]
  const review = makeModelReviewer(clientThat(said(true, ...quotes)), await makeTempDir())
  expect(await review(task)).toMatchObject({ agrees: true, quotes })
})

test('a reviewer that never quotes reaches no verdict', async () => {
  const review = makeModelReviewer(clientThat(said(true)), await makeTempDir())
  await expect(review(task)).rejects.toMatchObject({ name: 'BoundaryError', boundary: 'model' })
})
