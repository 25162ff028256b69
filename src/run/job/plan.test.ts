import { expect, test } from 'vitest'
import { noTask } from '../../core/job.ts'
import { defaultAgent, defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { makeTrialNamer, type PlannedTrial, planTrials, withTasks } from './plan.ts'

const key = { jobName: 'j', taskName: 'org/hello-world', digest: 'd', agent: { name: 'oracle' }, attempt: 0 }
const nameOf = (
  { attempt, ...of }: typeof key | (Omit<typeof key, 'agent'> & { agent: unknown }),
  namer = makeTrialNamer(),
) => namer(of)(attempt)

test('the same plan gives the same names', () => {
  expect(nameOf(key)).toBe(nameOf(key))
})

test('a name is the bare task name and seven letters of the short alphabet', () => {
  expect(nameOf(key)).toMatch(/^hello-world__[2-9A-HJ-NP-Za-km-z]{7}$/)
})

test('names match those of earlier versions, so their jobs resume', () => {
  expect(nameOf(key)).toBe('hello-world__Xs9USy3')
  expect(nameOf({ ...key, agent: undefined, attempt: 3 })).toBe('hello-world__AH7y3Th')
})

test('a long task name is cut to 32 characters and loses dangling dashes', () => {
  const name = nameOf({ ...key, taskName: `${'x'.repeat(30)}-_more` })
  expect(name).toMatch(/^x{30}__.{7}$/)
})

test('a task named like a hidden directory, or with a backslash, gets a name that a directory of trials takes', () => {
  const name = (taskName: string) => nameOf({ ...key, taskName })
  expect(name('..hidden')).toMatch(/^hidden__.{7}$/)
  expect(name('back\\slash')).toMatch(/^back-slash__.{7}$/)
  expect(name('...')).toMatch(/^__.{7}$/)
})

test('a long task name is never cut in the middle of a letter', () => {
  const name = nameOf({ ...key, taskName: `${'x'.repeat(31)}😀y` })
  expect(name).toMatch(/^x{31}😀__.{7}$/u)
})

test('the same task twice gets two names, the same ones each time', () => {
  const first = makeTrialNamer()
  const second = makeTrialNamer()
  const names = [nameOf(key, first), nameOf(key, first)]
  expect(new Set(names).size).toBe(2)
  expect([nameOf(key, second), nameOf(key, second)]).toEqual(names)
})

test('job, digest, agent and attempt all change the name', () => {
  const others = [{ jobName: 'k' }, { digest: 'e' }, { agent: { name: 'nop' } }, { attempt: 1 }]
  const names = [{}, ...others].map((change) => nameOf({ ...key, ...change }))
  expect(new Set(names).size).toBe(5)
})

test('trials get their tasks as they were when planned, or are refused', () => {
  const digests = { content: 'c', dirhash: 'd' }
  const named = { name: 'one', dir: '/tasks/one', digests }
  const trial = { name: 'one__abc', task: named, attempt: 0, config: {} as PlannedTrial['config'] }
  const read = (more: object = {}) => ({ task: { ...named, instruction: 'Do it.', ...more } }) as never
  expect(withTasks([trial], [read()])).toEqual([{ ...trial, task: { ...named, instruction: 'Do it.' } }])
  for (const changed of [{ name: 'two' }, { digests: { ...digests, content: 'other' } }, { dir: '/tasks/two' }])
    expect(() => withTasks([trial], [read(changed)])).toThrow('/tasks/one: expected an unchanged task')
})

test('more trials than can be planned are refused', () => {
  const config = defaultJobConfig({ agents: [defaultAgent()], nAttempts: 99_999_999_999 })
  const task = { name: 'a', dir: '/a', digests: { content: 'x', dirhash: 'y' } }
  const tasks = [{ task, config: { ...noTask, path: '/a' } }]
  expect(() => planTrials(config, { jobId: 'j', trialsDir: '/jobs' }, tasks)).toThrow('at most 10000000 trials')
})
