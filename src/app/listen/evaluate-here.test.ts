import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { evaluateHere } from './evaluate-here.ts'

test('tasks that are named as a dataset need no entry in the list of benchmarks', async () => {
  const model = { names: [], apiBase: 'http://127.0.0.1:9/v1', options: { healthcheck_max_attempts: 1 } }
  const request = { dataset: resolve('examples/tasks'), model, smoke: false }
  const evaluate = evaluateHere({ request, jobsDir: await makeTempDir(), notify: () => {} })
  const work = { model: 'mine', benchmark: 'of-our-own@2', attempt: 1, signal: new AbortController().signal }
  await expect(evaluate(work)).rejects.toThrow('model mine: no model server answers')
})
