import { expect, test } from 'vitest'
import type { MachineLimit } from '../../lib/machine-limits.ts'
import { requireRoom } from './plan.ts'

const needs = { descriptors: 8, processes: 12 }
const files: MachineLimit = { resource: 'file descriptors', name: 'ulimit -n', limit: 256, free: 230 }
const group: MachineLimit = { resource: 'processes', name: 'pids.max of /group', limit: 100, free: 80 }

test('a run that fits starts', () => {
  expect(() => requireRoom(4, needs, [files, group])).not.toThrow()
  expect(() => requireRoom(25, needs, [files])).not.toThrow()
  expect(() => requireRoom(1000, { descriptors: 0, processes: 0 }, [files, group])).not.toThrow()
})

test('one that does not is refused with what it needs, which limit is too low, and how many fit', () => {
  expect(() => requireRoom(64, needs, [files, group])).toThrow(
    expect.objectContaining({
      message: '64 concurrent trials need about 542 file descriptors, but ulimit -n is 256 and leaves 230',
      hint: 'run at most 25 at a time (-n 25), or raise ulimit -n',
      exitCode: 3,
    }),
  )
  expect(() => requireRoom(5, needs, [files, group])).toThrow(
    expect.objectContaining({ hint: 'run at most 4 at a time (-n 4), or raise pids.max of /group' }),
  )
})

test('where not even one fits, only the limit can help', () => {
  expect(() => requireRoom(1, needs, [{ ...group, free: 20 }])).toThrow(
    expect.objectContaining({ hint: 'raise pids.max of /group' }),
  )
})
