import { expect, test } from 'vitest'
import { isAbandoned, newSandboxId, parseLabels, renderLabels } from './labels.ts'

const owner = { job: 'job', trial: 'trial' }

test('labels tell who owns a sandbox, and that a running process still wants it', () => {
  const parsed = parseLabels(renderLabels('box', owner, -1))
  expect(parsed).toMatchObject({ sandbox: 'box', owner })
  expect(parsed && isAbandoned(parsed)).toBe(false)
})

test('a process that is gone owns nothing any more', () => {
  const parsed = parseLabels({ ...renderLabels('box', owner, 60), 'ot-agent.start': '1' })
  expect(parsed && isAbandoned(parsed)).toBe(true)
})

test('what belongs to another machine is left alone until its time is over', () => {
  const labels = { ...renderLabels('box', owner, 60), 'ot-agent.host': 'elsewhere', 'ot-agent.boot': 'other' }
  const parsed = parseLabels(labels)
  expect(parsed && isAbandoned(parsed)).toBe('unknown')
  expect(parsed && isAbandoned(parsed, Date.now() + 61_000)).toBe(true)
})

test('what belongs to another PID namespace of this machine, whose numbers mean other processes, is left alone', () => {
  const parsed = parseLabels({ ...renderLabels('box', owner, 60), 'ot-agent.start': '1', 'ot-agent.pidns': '7' })
  expect(parsed && isAbandoned(parsed)).toBe('unknown')
})

test('what is not ours has no owner', () => {
  expect(parseLabels({ maintainer: 'someone' })).toBeNull()
  expect(parseLabels(null)).toBeNull()
  expect(newSandboxId()).not.toBe(newSandboxId())
})
