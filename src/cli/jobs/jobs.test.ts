import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed, someRecord } from '../../../test/records.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { makeLiveStats } from '../../stats/live-stats.ts'
import { createJobDir, saveJobResult } from '../../store/job-dir.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { openTrialStore } from '../../store/open-store.ts'
import list from './list.ts'
import show from './show.ts'

let jobsDir: string
beforeEach(async () => {
  jobsDir = await makeTempDir()
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'jobs'], [...argv, '--jobs-dir', jobsDir])
  return printed()
}

const startedAt = '2026-11-15T00:00:55.187153Z'

/** A job of ours with these trials ended, out of `total`. */
async function makeJob(
  name: string,
  records: readonly TrialRecord[],
  total: number,
  layout: 'harbor' | 'packed' = 'harbor',
) {
  const dir = join(jobsDir, name)
  const config = defaultJobConfig({ jobName: name, jobsDir })
  const lock = { createdAt: startedAt, invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(dir, { id: 'an-id', identity: {}, startedAt, layout, config, lock })
  const store = await openTrialStore(dir, layout)
  const liveStats = makeLiveStats()
  for (const record of records) {
    await store.begin(record.config)
    await store.commit(record)
    liveStats.add(record)
  }
  await store.close()
  const finishedAt = records.length === total ? '2026-11-15T00:05:00.000000Z' : null
  await saveJobResult(dir, {
    id: 'an-id',
    startedAt,
    updatedAt: startedAt,
    finishedAt,
    totalTrials: total,
    stats: liveStats.stats({ total, running: 0, retries: 0 }),
  })
  return dir
}

const records = [
  someRecord({ name: 'a__1', bothRewardFiles: true }),
  someRecord({
    name: 'b__1',
    end: { kind: 'scored', rewards: { reward: 0.5 }, exit: { kind: 'limit', limit: 'time' } },
  }),
  someRecord({ name: 'c__1', retries: 2, end: failed({ message: 'no \u001b[31mroom' }), isolation: null }),
  someRecord({ name: 'd__1', end: { kind: 'cancelled' } }),
]

describe('jobs list', () => {
  test('says where each job stands, ours and Harbor’s', async () => {
    await makeJob('done', records, 4)
    await makeJob('stopped', records.slice(0, 1), 4)
    const live = await makeJob('live', [], 4)
    const release = await acquireOwner(live)
    await cp(new URL('../../../test/fixtures/harbor-job/made-by-harbor', import.meta.url), join(jobsDir, 'theirs'), {
      recursive: true,
    })
    const { jobs } = JSON.parse(await run(list, '--json'))
    await release()
    expect(jobs).toMatchObject([
      {
        name: 'done',
        state: 'finished',
        done: 4,
        total: 4,
        scored: 2,
        cancelled: 1,
        meanReward: 0.75,
        failures: { sandbox: 1 },
      },
      { name: 'live', state: 'running', done: 0, total: 4, meanReward: null, failures: {} },
      { name: 'stopped', state: 'interrupted', done: 1, total: 4, meanReward: 1 },
      { name: 'theirs', state: 'finished', done: 4, total: 4, scored: 2, meanReward: 0.5, failures: { sandbox: 1 } },
    ])
  })

  test('is a table for people', async () => {
    await makeJob('done', records, 4)
    expect((await run(list)).split('\n').slice(0, 2)).toEqual([
      expect.stringMatching(/^job {2,}state {2,}trials {2,}mean reward {2,}failed {2,}started$/),
      expect.stringMatching(/^done {2,}finished {2,}4\/4 {2,}0\.750 {2,}sandbox 1 {2,}2026-11-1\d \d\d:\d\d:\d\d$/),
    ])
  })

  test('says when there is none, and where it looked in vain', async () => {
    expect(await run(list)).toBe(`no jobs in ${jobsDir}\n`)
    await expect(runCommand(list, [], ['-o', join(jobsDir, 'missing')])).rejects.toThrow(
      'expected a directory of jobs, got nothing there',
    )
  })

  test('does not stop at a job that cannot be read', async () => {
    await makeJob('done', records, 4)
    await mkdir(join(jobsDir, 'broken'))
    await writeFile(join(jobsDir, 'broken', 'config.json'), '{"n_attempts": "x"}')
    const { jobs, broken } = JSON.parse(await run(list, '--json'))
    expect([jobs.length, broken[0].name]).toEqual([1, 'broken'])
  })
})

describe('jobs show', () => {
  test.each(['harbor', 'packed'] as const)(
    'adds up a %s job over the trials that scored and over all',
    async (layout) => {
      await makeJob('done', records, 4, layout)
      const report = JSON.parse(await run(show, 'done', '--json'))
      expect(report).toMatchObject({
        name: 'done',
        state: 'finished',
        planned: 4,
        layout,
        all: { trials: 4, failedByBoundary: { sandbox: 1 } },
      })
      expect(report.groups).toMatchObject([
        {
          key: 'oracle__tasks',
          scored: 2,
          failed: 1,
          cancelled: 1,
          meanOverScored: 0.75,
          meanOverAll: 0.375,
          metrics: [{ mean: 0.375 }],
        },
      ])
      expect(report.trials.map((trial: { name: string; end: string }) => [trial.name, trial.end])).toEqual([
        ['a__1', 'scored'],
        ['b__1', 'scored'],
        ['c__1', 'failed'],
        ['d__1', 'cancelled'],
      ])
    },
  )

  test('averages a metric over the tasks that have it', async () => {
    const scored = (name: string, rewards: Record<string, number>) => {
      const record = someRecord({ name, end: { kind: 'scored', rewards, exit: { kind: 'finished' } } })
      return { ...record, task: { ...record.task, name } }
    }
    await makeJob(
      'metrics',
      [scored('a', { reward: 1, dates: 0.5 }), scored('b', { reward: 0 }), scored('c', { reward: 1 })],
      3,
    )
    const [group] = JSON.parse(await run(show, 'metrics', '--json')).groups
    expect(group.rewardMeans).toMatchObject([
      { name: 'dates', mean: 0.5, tasks: 1, ofTasks: 3 },
      { name: 'reward', tasks: 3, ofTasks: 3 },
    ])
    expect(await run(show, 'metrics')).toContain('dates 0.500 (1 of 3 tasks), reward 0.667')
  })

  test('is two tables for people, with notes, and nothing a terminal would obey', async () => {
    const dir = await makeJob('done', records, 9)
    const text = await run(show, dir)
    expect(text).toContain('done: interrupted, 4 of 9 trials ended')
    expect(text).toMatch(/^oracle__tasks +4 +2 +1 \(sandbox 1\) +1 +0\.750 +0\.375 +mean 0\.375 +-$/m)
    expect(text).toMatch(/^b__1 +scored \(time limit\) +0\.5 +- +1m05s +0 +fresh$/m)
    expect(text).toMatch(/^c__1 +failed +- +sandbox: SandboxError +1m05s +2 +-$/m)
    expect(text).toContain('note: the tests wrote both reward.txt and reward.json; reward.txt counted (1 of 4 trials)')
    expect(text).not.toContain('\u001b')
  })

  test('shows one trial with everything its record knows', async () => {
    await makeJob('done', records, 4)
    expect(JSON.parse(await run(show, 'done', '--trial', 'c__1', '--json'))).toEqual(records[2])
    const text = await run(show, 'done', '--trial', 'c__1')
    expect(text).toMatch(/^blame +sandbox: SandboxError: no \[31mroom$/m)
    expect(text).toMatch(/^sandbox +local, limits that hold: cpu, memory, pids$/m)
    expect(text).toContain('    at somewhere'.trim())
  })

  test('a job Harbor made is shown too', async () => {
    const report = JSON.parse(
      await run(show, new URL('../../../test/fixtures/harbor-job/made-by-harbor', import.meta.url).pathname, '--json'),
    )
    expect(report).toMatchObject({
      state: 'finished',
      costUsd: 0.0125,
      groups: [{ passAtK: { 2: 0.5 }, metrics: [{ mean: 0.25 }, { max: 1 }] }],
    })
  })

  test('a job or trial that is not there is two lines', async () => {
    await makeJob('done', records, 4)
    await expect(run(show, 'gone')).rejects.toThrow(`found neither gone nor ${join(jobsDir, 'gone')}`)
    await expect(run(show, 'done', '--trial', 'x')).rejects.toThrow('has no finished trial "x"')
  })
})
