import { expect, test } from 'vitest'
import type { Launch, LaunchJob, ScheduledState } from '../../core/launch.ts'
import type { Mark } from './journal.ts'
import { isOver, jobsOf, unitsOf } from './status.ts'
import { missingJobs } from './submit.ts'

const resources = { nodes: 1, gpusPerNode: 0, cpusPerNode: 1, memoryGb: 1, timeLimit: '1:00:00' }

function job(name: string, more: Partial<LaunchJob> = {}): LaunchJob {
  const base = {
    name,
    jobName: name,
    summary: name,
    place: null,
    resources,
    after: [],
    array: null,
    restarts: 0,
    stopSec: 60,
    script: [],
  }
  return { ...base, ...more }
}

const launch = {
  jobs: [
    job('server'),
    job('tasks', { after: [{ job: 'server', when: 'started' }] }),
    job('traces', {
      array: { size: 3, throttle: 2 },
      after: [
        { job: 'tasks', when: 'ok' },
        { job: 'server', when: 'started' },
      ],
    }),
  ],
} as unknown as Launch
const submissions = ['server', 'tasks', 'traces'].map((name, i) => ({
  job: name,
  link: 0,
  id: String(i + 1),
  tasks: null,
}))

function look(marks: Readonly<Record<string, string>>, scheduled: readonly ScheduledState[]) {
  const byUnit = new Map<string, Mark[]>()
  for (const [name, text] of Object.entries(marks)) {
    const [, unit = '', kind = ''] = /^(.*)\.(\w+)$/.exec(name) ?? []
    byUnit.set(unit, [{ kind: kind as Mark['kind'], text }])
  }
  return unitsOf({ launch, submissions }, byUnit, scheduled)
}

const states = (units: ReturnType<typeof look>) => Object.fromEntries(units.map(({ unit, state }) => [unit, state]))

test("a job's own mark counts, even when the scheduler has forgotten the job", () => {
  const units = look(
    {
      'server.end': '0 0/0 over',
      'tasks.done': '2026',
      'traces.0.done': '2026',
      'traces.1.end': '130 0/0 time-limit',
      'traces.2.end': '3 0/0 failed',
    },
    [],
  )
  expect(states(units)).toEqual({
    server: 'done',
    tasks: 'done',
    'traces.0': 'done',
    'traces.1': 'resumable',
    'traces.2': 'failed',
  })
  expect(isOver(units)).toBe(true)
  expect(jobsOf(units).find(({ job: name }) => name === 'traces')).toMatchObject({
    state: 'failed',
    units: { done: 1, resumable: 1, failed: 1 },
  })
})

test('a job that waits or runs again no longer has its earlier ending', () => {
  const units = look({ 'tasks.end': '1 0/1 failed' }, [{ id: '2', task: null, state: 'running', reason: 'RUNNING' }])
  expect(states(units).tasks).toBe('running')
  expect(isOver(units)).toBe(false)
})

test('a job that the scheduler says ended well, and that did not mark itself done, has failed', () => {
  expect(states(look({}, [{ id: '2', task: null, state: 'done', reason: 'COMPLETED' }])).tasks).toBe('failed')
})

test('resume submits the missing tasks and the server they need', () => {
  const units = look(
    { 'server.end': '0 0/0 over', 'tasks.done': '', 'traces.0.done': '', 'traces.1.end': '1 0/0 failed' },
    [{ id: '3', task: 2, state: 'running', reason: '' }],
  )
  expect([...missingJobs(launch, units)]).toEqual([
    ['traces', [1]],
    ['server', null],
  ])
})

test('nothing is submitted when everything is done', () => {
  const done = {
    'server.end': '0 0/0 over',
    'tasks.done': '',
    'traces.0.done': '',
    'traces.1.done': '',
    'traces.2.done': '',
  }
  expect([...missingJobs(launch, look(done, []))]).toEqual([])
})
