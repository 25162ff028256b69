import { expect, test } from 'vitest'
import { parseAccounting, parseQueue } from './index.ts'

test('states are read from squeue, arrays task by task', () => {
  expect(parseQueue('12|N/A|PENDING|Dependency\n13|4|RUNNING|None\n13|5|NODE_FAIL|None\n')).toEqual([
    { id: '12', task: null, state: 'waiting', reason: 'PENDING Dependency' },
    { id: '13', task: 4, state: 'running', reason: 'RUNNING' },
    { id: '13', task: 5, state: 'failed', reason: 'NODE_FAIL' },
  ])
})

test('states are read from sacct, whoever cancelled, and steps are passed over', () => {
  expect(
    parseAccounting('12|CANCELLED by 0|0:0\n13_4|TIMEOUT|0:15\n13_[5-9]|PENDING|0:0\n14|OUT_OF_MEMORY|0:125\n'),
  ).toEqual([
    { id: '12', task: null, state: 'cancelled', reason: 'CANCELLED by 0 0:0' },
    { id: '13', task: 4, state: 'resumable', reason: 'TIMEOUT 0:15' },
    { id: '14', task: null, state: 'failed', reason: 'OUT_OF_MEMORY 0:125' },
  ])
})
