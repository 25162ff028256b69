import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import { atBoundary, failureOf, sandboxGone, settle } from './boundary.ts'

test('a sandbox that is gone just before the trial is cancelled belongs to the cancellation', async () => {
  const cancel = new AbortController()
  const end = settle(cancel.signal, async () => {
    setTimeout(() => cancel.abort(), 20)
    throw sandboxGone('while the agent worked')
  })
  expect(await end).toEqual({ kind: 'cancelled' })
})

test('a sandbox that is gone for another reason is a failure', async () => {
  const end = await settle(new AbortController().signal, async () => {
    throw sandboxGone('while the agent worked')
  })
  expect(end).toMatchObject({ kind: 'failed', failure: { boundary: 'sandbox', code: 'SandboxGoneError' } })
})

test('the record of a failure has what was said and where in the code of others, and no line of ours', async () => {
  const ofTask = failureOf(new BoundaryError('task', 'Dockerfile:2: unknown word', { code: 'EnvironmentBuildError' }))
  expect(ofTask.stack).toBe('EnvironmentBuildError: Dockerfile:2: unknown word')
  const thrown = new TypeError('x is undefined')
  thrown.stack = `TypeError: x is undefined\n    at Boom.solve (/home/me/boom.ts:7:11)\n${new Error().stack?.split('\n').slice(1).join('\n')}`
  const ofAgent = await atBoundary('agent', new AbortController().signal, () => Promise.reject(thrown)).catch(failureOf)
  expect(ofAgent).toMatchObject({
    stack:
      'AgentError: x is undefined\nCaused by: TypeError: x is undefined\n    at Boom.solve (/home/me/boom.ts:7:11)',
  })
})

test('a bug of ours keeps its frames', async () => {
  const ofOurs = await atBoundary(
    'sandbox',
    new AbortController().signal,
    async () => Object(undefined).missing.length,
  ).catch(failureOf)
  expect(ofOurs).toMatchObject({ stack: expect.stringMatching(/Caused by: TypeError: .*\n +at .*boundary\.test\.ts/) })
})
