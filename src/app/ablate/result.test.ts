import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { readOutcomes } from './result.ts'

test('results of one name in several folders are all kept', async () => {
  const dir = await makeTempDir()
  const result = (reward: number) => JSON.stringify({ tasks: { a: [reward] }, values: { loss: reward } })
  await writeTree(dir, { 'math/result.json': result(1), 'code/result.json': result(0) })
  const found = await readOutcomes([join(dir, 'math/result.json'), join(dir, 'code/result.json')])
  expect([...found.tasks]).toEqual([
    ['result/a', [1]],
    ['result#2/a', [0]],
  ])
  expect(found.values).toEqual({ 'result/loss': 1, 'result#2/loss': 0 })
})

test.each<[string, string]>([
  ['{oops', 'expected JSON, got "{oops"'],
  ['', 'expected JSON, got ""'],
  ['{}', 'tasks: '],
])('a result of %j is refused with what is wrong with it', async (text, message) => {
  const dir = await makeTempDir()
  await writeTree(dir, { 'result.json': text })
  await expect(readOutcomes([join(dir, 'result.json')])).rejects.toThrow(`result.json: ${message}`)
})
