import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { saveTaskDraft } from './draft.ts'
import { loadTask } from './load.ts'
import { draftFromRecord, draftsFromQuestions } from './record-draft.ts'

const lineage = { pipeline: 'p', strategy: 's', rowId: '1', rowDigest: 'd', seed: 1 }

test('a record’s seven slots all reach the task', async () => {
  const draft = draftFromRecord({
    instruction: 'Do it.',
    metadata: { from: 'here' },
    solution: '#!/bin/sh\ntrue\n',
    testSh: '#!/bin/sh\npytest /tests/test_state.py\n',
    testPy: 'def test(): pass\n',
    taskToml: '[agent]\ntimeout_sec = 77.0\n',
    dockerfile: 'FROM alpine:3\n',
  })
  const dir = await saveTaskDraft({ ...draft, name: 't', lineage }, await makeTempDir())
  expect((await readdir(dir, { recursive: true })).sort()).toEqual([
    'environment',
    'environment/Dockerfile',
    'instruction.md',
    'metadata.json',
    'solution',
    'solution/solve.sh',
    'task.toml',
    'tests',
    'tests/test.sh',
    'tests/test_state.py',
  ])
  expect((await loadTask(dir)).agent.timeoutSec).toBe(77)
  expect(() => draftFromRecord({ instruction: 'x', taskToml: 'a = [' })).toThrow(/taskToml: expected TOML/)
  expect(draftsFromQuestions(['a', 'b'], 'q').map(({ name }) => name)).toEqual(['q-0000', 'q-0001'])
})
