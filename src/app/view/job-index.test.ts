import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { addRecords, makeJob, trialOf } from '../../../test/registry/jobs.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { JobIndex } from './job-index.ts'

test('what is made of the trials is made once, and again when there are more', async () => {
  const records = ['alpha', 'beta'].flatMap((task) =>
    ['lab/one', 'lab/two'].map((model, attempt) => trialOf({ task, model, attempt, reward: 1 })),
  )
  const dir = await makeJob(join(await makeTempDir(), 'job'), { id: 'job', records })
  const index = new JobIndex({ dir, layout: 'harbor' })
  await index.refresh(10_000)
  expect(index.groups().map(({ model }) => model)).toEqual(expect.arrayContaining(['lab/one', 'lab/two']))
  expect(index.tasks().map(({ task, cells }) => [task, cells.length])).toEqual([
    ['org/alpha', 1],
    ['org/alpha', 1],
    ['org/beta', 1],
    ['org/beta', 1],
  ])
  expect(new Set(index.tasks().map(({ group }) => group)).size).toBe(2)
  expect(index.search('ALPHA lab/two').map(({ task, model }) => [task, model])).toEqual([['org/alpha', 'lab/two']])
  expect(index.search(' ')).toBe(index.inOrder())
  expect(index.groups()).toBe(index.groups())
  expect(index.tasks()).toBe(index.tasks())
  const before = index.groups()
  await addRecords(dir, [trialOf({ task: 'gamma', model: 'lab/two', reward: 0 })])
  await index.refresh(10_000)
  expect(index.groups()).not.toBe(before)
  expect(index.names()).toEqual(index.names().toSorted())
  expect(index.search('gamma')).toHaveLength(1)
  expect(index.tasks().find(({ task }) => task === 'org/gamma')?.group).toBe(index.tasks()[1]?.group)
})

test('a trial of a packed job that was run again counts once', async () => {
  const failed = trialOf({ task: 'alpha', state: 'failed' })
  const records = [failed, trialOf({ task: 'beta', reward: 1 })]
  const dir = await makeJob(join(await makeTempDir(), 'job'), { id: 'job', records, layout: 'packed' })
  const seen = new JobIndex({ dir, layout: 'packed' })
  await seen.refresh(10_000)
  const store = await openTrialStore(dir, 'packed')
  await store.retract(failed.name)
  await store.close()
  await addRecords(dir, [trialOf({ task: 'alpha', reward: 1 })], 'packed')
  for (const index of [seen, new JobIndex({ dir, layout: 'packed' })]) {
    await index.refresh(10_000)
    expect(index.groups()).toMatchObject([{ trials: 2, scored: 2, failed: 0 }])
    expect(index.names()).toHaveLength(2)
  }
})
