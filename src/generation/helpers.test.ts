import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../test/make-task.ts'
import { saveTaskDraft } from '../formats/harbor-task/draft.ts'
import { loadTask } from '../formats/harbor-task/load.ts'
import { finalizeDataset } from './finalize.ts'
import { draftFromRecord, draftsFromQuestions } from './record-draft.ts'
import { stratifiedSample, subsample, topByScore, upsample } from './sampling.ts'

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

test('samples have the size that was asked for, and depend on the seed alone', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat()), fc.nat(40), fc.nat(), (items, count, seed) => {
      const some = subsample(items, count, seed)
      expect(some).toHaveLength(Math.min(count, items.length))
      expect(subsample(items, count, seed)).toEqual(some)
      const strata = stratifiedSample(items, count, (item) => String(item % 3), seed)
      expect(strata).toHaveLength(Math.min(count, items.length))
      for (const group of [0, 1, 2]) {
        const share = (items.filter((item) => item % 3 === group).length * strata.length) / (items.length || 1)
        expect(Math.abs(strata.filter((item) => item % 3 === group).length - share)).toBeLessThan(1)
      }
      if (items.length === 0) return
      const more = upsample(items, count, seed)
      expect(more).toHaveLength(count)
      const often = items.map((item) => more.filter((one) => one.item === item).length)
      expect(Math.max(...often) - Math.min(...often)).toBeLessThanOrEqual(1)
    }),
  )
  expect(() => upsample([], 3, 1)).toThrow('expected something to repeat')
})

test('the best by score come first, with statistics over all that have one', () => {
  const { kept, statistics } = topByScore([3, 9, Number.NaN, 5, 9], 2, (item) => item)
  expect(kept).toEqual([9, 9])
  expect(statistics).toEqual({ count: 4, kept: 2, min: 3, max: 9, mean: 6.5, median: 7, threshold: 9 })
  expect(topByScore([], 2, () => 1)).toEqual({ kept: [], statistics: null })
})

test('a dataset is moved whole; an empty one, or a place that is taken, is refused', async () => {
  const dir = await makeTempDir()
  const [from, to, empty] = [join(dir, 'from'), join(dir, 'to'), join(dir, 'empty')]
  await mkdir(from)
  await mkdir(empty)
  await writeFile(join(from, 'task'), '')
  await expect(finalizeDataset(empty, to)).rejects.toMatchObject({ stage: 'postprocess' })
  expect(await finalizeDataset(from, null)).toBe(from)
  expect(await finalizeDataset(from, to)).toBe(to)
  expect(await readdir(to)).toEqual(['task'])
  await writeFile(join(from, 'task'), '')
  await expect(finalizeDataset(from, to)).rejects.toMatchObject({ name: 'UserError' })
})
