import { expect, test } from 'vitest'
import { sandboxGone, settle } from './boundary.ts'

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
