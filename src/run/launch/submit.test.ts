import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { Launch, Scheduler } from '../../core/launch.ts'
import { submitJobs } from './submit.ts'

test('a job that cannot be recorded is cancelled', async () => {
  const experimentsDir = await makeTempDir()
  // A directory in place of the file of submissions.
  mkdirSync(join(experimentsDir, 'launches/x/submitted.jsonl'), { recursive: true })
  const launch = { id: 'x', experimentsDir, jobs: [{ name: 'one', restarts: 0, place: null }] } as unknown as Launch
  const cancelled: string[] = []
  const scheduler = {
    submit: async () => 'job-1',
    cancel: async (submissions: readonly { id: string }[]) => void cancelled.push(...submissions.map(({ id }) => id)),
  } as unknown as Scheduler
  const asked = { launch, scheduler, earlier: [], jobs: new Map([['one', null]]) }
  await expect(submitJobs(asked)).rejects.toThrow('EISDIR')
  expect(cancelled).toEqual(['job-1'])
})
