import { expect, test } from 'vitest'
import { isAbandoned, newSandboxId, parseLabels, renderLabels, stateMark } from './labels.ts'

const owner = { job: 'job', trial: 'trial' }
const id = newSandboxId()
const stateDir = '/state'

test('labels tell who owns a sandbox, and that a running process still wants it', () => {
  const parsed = parseLabels(renderLabels(id, owner, { stateDir, lifetimeSec: -1 }))
  expect(parsed).toMatchObject({ sandbox: id, owner, stateMark: stateMark(stateDir) })
  expect(parsed && isAbandoned(parsed)).toBe(false)
})

test('a process that is gone owns nothing any more', () => {
  const parsed = parseLabels({ ...renderLabels(id, owner, { stateDir, lifetimeSec: 60 }), 'ot-agent.start': '1' })
  expect(parsed && isAbandoned(parsed)).toBe(true)
})

test('things of another machine are left alone until their time is over', () => {
  const labels = {
    ...renderLabels(id, owner, { stateDir, lifetimeSec: 60 }),
    'ot-agent.host': 'elsewhere',
    'ot-agent.boot': 'other',
  }
  const parsed = parseLabels(labels)
  expect(parsed && isAbandoned(parsed)).toBe('unknown')
  expect(parsed && isAbandoned(parsed, Date.now() + 61_000)).toBe(true)
})

test('what belongs to another PID namespace of this machine, whose numbers mean other processes, is left alone', () => {
  const parsed = parseLabels({
    ...renderLabels(id, owner, { stateDir, lifetimeSec: 60 }),
    'ot-agent.start': '1',
    'ot-agent.pidns': '7',
  })
  expect(parsed && isAbandoned(parsed)).toBe('unknown')
})

test('what is not ours has no owner', () => {
  expect(parseLabels({ maintainer: 'someone' })).toBeNull()
  expect(parseLabels(null)).toBeNull()
  const ours = renderLabels(id, owner, { stateDir, lifetimeSec: 60 })
  expect(parseLabels({ ...ours, 'ot-agent.sandbox': 'ot-agent-mine' })).toBeNull()
  expect(parseLabels({ 'ot-agent.sandbox': id })).toBeNull()
  expect(parseLabels({ ...ours, 'ot-agent.pid': 'all' })).toBeNull()
  expect(stateMark('/state/../other')).toBe(stateMark('/other'))
  expect(newSandboxId()).not.toBe(newSandboxId())
})
