import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { signalGroup, signalProcess } from './spawn-process.ts'

test('a process is signalled while it exists', async () => {
  const child = spawn('sleep', ['60'])
  expect(signalProcess(child.pid!, 0)).toBe(true)
  expect(signalProcess(child.pid!, 'SIGKILL')).toBe(true)
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  expect(signalProcess(child.pid!, 'SIGKILL')).toBe(false)
})

test('a group is signalled with all its processes', async () => {
  const leader = spawn('sh', ['-c', 'sleep 60 & echo started; wait'], { detached: true })
  await once(leader.stdout, 'data')
  expect(signalGroup(leader.pid!, 'SIGKILL')).toBe(true)
  // Its output closes when the last process that holds it is gone.
  await once(leader, 'close')
})

// Signal 0 only checks, and the kernel would accept all but the last two.
test.each([0, 1, -1, 1.5, Number.NaN])('%d is not a process', (pid) => {
  expect(signalProcess(pid, 0)).toBe(false)
  expect(signalGroup(pid, 0)).toBe(false)
})
