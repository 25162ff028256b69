import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { addRecords, makeBigJob, makeJob, trialOf } from '../../../test/registry/jobs.ts'
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

test('a rerun trial of a packed job counts once', async () => {
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

/** Reruns a trial of a packed job, as a resumed job does. */
async function runAgain(dir: string, task: string): Promise<void> {
  const again = trialOf({ task, reward: 1 })
  const store = await openTrialStore(dir, 'packed')
  await store.retract(again.name)
  await store.close()
  await addRecords(dir, [again], 'packed')
}

async function twoFailed(): Promise<string> {
  const records = ['alpha', 'beta'].map((task) => trialOf({ task, state: 'failed' }))
  return makeJob(join(await makeTempDir(), 'job'), { id: 'job', records, layout: 'packed' })
}

test('trials that are run again one after another count once each', async () => {
  const dir = await twoFailed()
  const index = new JobIndex({ dir, layout: 'packed' })
  await index.refresh(10_000)
  for (const [i, task] of ['alpha', 'beta'].entries()) {
    await runAgain(dir, task)
    await index.refresh(10_000)
    expect(index.groups(), task).toMatchObject([{ trials: 2, scored: i + 1, failed: 1 - i }])
  }
})

test('a trial replaced during a recount counts once', async () => {
  const dir = await twoFailed()
  const path = join(dir, 'packed/index.jsonl')
  const [second = ''] = readFileSync(path, 'utf8').trim().split('\n').slice(-1)
  let asked = 0
  const job = {
    get dir() {
      // The second read starts.
      if (++asked === 2) appendFileSync(path, `${second}\n`)
      return dir
    },
    layout: 'packed' as const,
  }
  const index = new JobIndex(job)
  await index.refresh(10_000)
  await runAgain(dir, second.includes('alpha') ? 'beta' : 'alpha')
  await index.refresh(10_000)
  expect(asked).toBeGreaterThan(1)
  expect(index.groups()).toMatchObject([{ trials: 2, scored: 1, failed: 1 }])
})

test('a second reading that fails takes nothing away, and is tried again', async () => {
  const dir = await twoFailed()
  let isBroken = false
  const job = {
    get dir() {
      if (isBroken) throw new Error('the disk is gone')
      return dir
    },
    layout: 'packed' as const,
  }
  const index = new JobIndex(job)
  await index.refresh(10_000)
  await runAgain(dir, 'alpha')
  isBroken = true
  await expect(index.refresh(10_000)).rejects.toThrow('the disk is gone')
  expect(index.names()).toHaveLength(2)
  isBroken = false
  await index.refresh(10_000)
  expect(index.groups()).toMatchObject([{ trials: 2, scored: 1, failed: 1 }])
})

test('all trials are shown while they are counted again', async () => {
  const count = 400
  const dir = join(await makeTempDir(), 'job')
  await makeBigJob(dir, 'job', count, (i) => trialOf({ task: `t${i}`, reward: 0 }))
  const index = new JobIndex({ dir, layout: 'packed' })
  await index.refresh(10_000)
  await runAgain(dir, 't7')
  let isOver = false
  const reading = index.refresh(10_000).finally(() => {
    isOver = true
  })
  const seen = new Set<string>()
  while (!isOver) {
    const [group] = index.groups()
    seen.add(`${index.rows.size} rows, ${group?.trials} trials`)
    await setImmediate()
  }
  await reading
  expect([...seen]).toEqual([`${count} rows, ${count} trials`])
  expect(index.groups()).toMatchObject([{ trials: count }])
})
