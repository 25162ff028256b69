import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { signalProcess } from '../lib/spawn-process.ts'
import { runCommand } from './run-command.ts'

test('a command whose start cannot be written down is stopped', async () => {
  const log = join(await makeTempDir(), 'log.txt')
  let started = 0
  const running = runCommand(['sleep', '600'], {
    log,
    signal: new AbortController().signal,
    onStart: async (pid) => {
      started = pid
      throw new Error('the disk is full')
    },
  })
  await expect(running).rejects.toThrow('the disk is full')
  const isAlive = signalProcess(started, 0)
  if (isAlive) signalProcess(started, 'SIGKILL')
  expect(isAlive).toBe(false)
})
