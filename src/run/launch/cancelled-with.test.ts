import { expect, test } from 'vitest'
import { cancelledWith } from './cancelled-with.ts'

const jobs = [
  { name: 'download', after: [] },
  { name: 'server', after: [{ job: 'download', when: 'ok' }] },
  { name: 'tasks', after: [{ job: 'server', when: 'started' }] },
  {
    name: 'traces',
    after: [
      { job: 'tasks', when: 'ok' },
      { job: 'server', when: 'started' },
    ],
  },
  { name: 'upload-tasks', after: [{ job: 'tasks', when: 'ok' }] },
  { name: 'upload', after: [{ job: 'traces', when: 'ok' }] },
] as const

const cancelled = (first: string, inactive: readonly string[] = []) =>
  [...cancelledWith(jobs, first, (job) => !inactive.includes(job))].sort()

test('what runs only after a cancelled job is cancelled with it, and so is a server that no job needs any more', () => {
  expect(cancelled('upload')).toEqual(['upload'])
  expect(cancelled('traces')).toEqual(['traces', 'upload'])
  expect(cancelled('traces', ['tasks'])).toEqual(['server', 'traces', 'upload'])
  expect(cancelled('tasks')).toEqual(['server', 'tasks', 'traces', 'upload', 'upload-tasks'])
  expect(cancelled('server')).toEqual(['server'])
  expect(cancelled('download')).toEqual(['download', 'server'])
})
