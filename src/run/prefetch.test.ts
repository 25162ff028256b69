import { expect, test } from 'vitest'
import { jobConfig, taskNamed, trialConfig } from '../../test/fakes/configs.ts'
import { makeRoom, resourcesOf } from './prefetch.ts'

const small = { cpus: 1, memoryMb: 1000 }

test('has room until processors or memory are used up', () => {
  const room = makeRoom({ cpus: 2, memoryMb: 10_000 })
  room.enter('a', small)
  expect(room.fits(small)).toBe(true)
  room.enter('b', small)
  expect(room.fits(small)).toBe(false)
  room.leave('a')
  expect(room.fits({ cpus: 1, memoryMb: 9000 })).toBe(true)
  expect(room.fits({ cpus: 1, memoryMb: 9001 })).toBe(false)
})

test('counts a trial once, whether its sandbox was started ahead or not', () => {
  const room = makeRoom({ cpus: 2, memoryMb: 10_000 })
  room.enter('a', small)
  room.enter('a', small)
  expect(room.fits(small)).toBe(true)
})

test('a trial asks for what its task says, the job’s overrides win, and one that says nothing counts too', () => {
  const task = taskNamed('a')
  const asking = { ...task, environment: { ...task.environment, cpus: 4, memoryMb: 8192 } }
  expect(resourcesOf({ task, config: trialConfig() })).toEqual({ cpus: 1, memoryMb: 2048 })
  expect(resourcesOf({ task: asking, config: trialConfig() })).toEqual({ cpus: 4, memoryMb: 8192 })
  const environment = { ...jobConfig().environment, overrideCpus: 2 }
  expect(resourcesOf({ task: asking, config: trialConfig({ environment }) })).toEqual({ cpus: 2, memoryMb: 8192 })
})
