import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeTempDir, type TaskTree, writeTree } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed, someRecord } from '../../../test/records.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { makeLiveStats } from '../../stats/live-stats.ts'
import { createJobDir, saveJobResult } from '../../store/job-dir.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { openTrialStore } from '../../store/open-store.ts'
import evalReport from '../eval/report.ts'
import ingest from '../registry/ingest.ts'
import exportTraces from '../traces/export.ts'
import stats from '../traces/stats.ts'
import view from '../view.ts'
import list from './list.ts'
import report from './report.ts'
import resume from './resume.ts'
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

/** Makes a job of ours with these trials finished, out of `total`. */
async function makeJob(
  name: string,
  records: readonly TrialRecord[],
  total: number,
  { layout = 'harbor', files = {} }: { readonly layout?: 'harbor' | 'packed'; readonly files?: TaskTree } = {},
) {
  const dir = join(jobsDir, name)
  const config = defaultJobConfig({ jobName: name, jobsDir })
  const lock = { createdAt: startedAt, invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(dir, { id: 'an-id', identity: {}, startedAt, layout, config, lock })
  const store = await openTrialStore(dir, layout)
  const liveStats = makeLiveStats()
  for (const record of records) {
    await writeTree(await store.begin(record.config), files)
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

/** A trajectory in which each turn types one command. */
function trajectory(turns: number): string {
  const steps = Array.from({ length: turns }, (_, i) => ({
    step_id: i + 2,
    source: 'agent',
    message: 'I think',
    tool_calls: [{ tool_call_id: `c${i}`, function_name: 'bash', arguments: { keystrokes: `echo turn ${i + 1}\n` } }],
    observation: { results: [{ content: `turn ${i + 1}` }] },
  }))
  const agent = { name: 'a', version: '1' }
  const first = { step_id: 1, source: 'user', message: 'Do it.' }
  return JSON.stringify({ schema_version: 'ATIF-v1.2', session_id: 's', agent, steps: [first, ...steps] })
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
      'expected a directory of jobs, found nothing there',
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
      await makeJob('done', records, 4, { layout })
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
    expect(text).toContain('note: the tests wrote both reward.txt and reward.json; reward.txt was used (1 of 4 trials)')
    expect(text).not.toContain('\u001b')
  })

  test.each(['harbor', 'packed'] as const)('says on one screen why a trial of a %s job failed', async (layout) => {
    const agentOut = 'a\u001b[31mred\u001b[0m line\n\u001b]0;title\u0007bell\n'
    const files = {
      'agent/trajectory.json': trajectory(30),
      'agent/notes.txt': agentOut,
      'verifier/test-stdout.txt': `${Array.from({ length: 20 }, (_, i) => `out ${i}`).join('\n')}\n\u001b[2Jlast ${'x'.repeat(200)}\n`,
      'trial.log': '2026-11-15T00:01:00.000000Z tests exited with 7: boom\n2026-11-15T00:01:01.000000Z rewards\n',
    }
    const record = someRecord({
      name: 'c__1',
      retries: 2,
      end: failed({
        message: 'no \u001b[31mroom\nmore of it',
        stack: 'SandboxError: no room\n    at f (/mine/x.ts:7:1)',
      }),
    })
    const dir = await makeJob('done', [record], 1, { layout, files })
    const report = JSON.parse(await run(show, 'done', '--trial', 'c__1', '--json'))
    expect(report).toMatchObject({
      schema: 'trial-report/1',
      why: expect.stringContaining('Infrastructure failure blamed on the sandbox'),
      trial: { name: 'c__1', end: 'failed', code: 'SandboxError' },
      logLine: '2026-11-15T00:01:00.000000Z tests exited with 7: boom',
      dir: layout === 'packed' ? null : join(dir, 'c__1'),
      record,
    })
    expect(report.turns).toHaveLength(30)
    expect(report.testOutput.lines.at(-2)).toBe('out 19')
    const text = await run(show, 'done', '--trial', 'c__1')
    const lines = text.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(40)
    for (const line of lines) expect(line.includes(dir) || line.length <= 80, line).toBe(true)
    expect(text).not.toContain('\u001b')
    expect(text).toMatch(/^blame +sandbox: SandboxError$/m)
    expect(text).toMatch(/^thrown +f \(\/mine\/x\.ts:7:1\)$/m)
    expect(text).toMatch(/^ +1 {2}echo turn 1\n[\s\S]*^ +\.\.\. 23 more \.\.\.\n[\s\S]*^ +30 {2}echo turn 30$/m)
    expect(text).toMatch(/the tests printed \(verifier\/test-stdout\.txt, the last 6 lines\):\n {2}\| out 15\n/)
    expect(text).toMatch(/^ {2}\| \\x1b\[2Jlast x+ \.\.\. x+$/m)
    expect(text).toMatch(/trial\.log says:\n {2}00:01:00 tests exited with 7: boom$/m)
    expect(text).toMatch(/^ {2}npx ot-agent doctor$/m)
    expect(text).toContain(`ot-agent jobs retry ${dir} --only SandboxError`)
  })

  test('shows what an agent without turns printed, without colors', async () => {
    const end = { kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'finished' } } as const
    const files = { 'agent/oracle.txt': 'a \u001b[31mred\u001b[0m line\n\u001b]0;title\u0007bell\n' }
    await makeJob('done', [someRecord({ name: 'hello__AbC23de', end })], 1, { files })
    const text = await run(show, 'done', '--trial', 'hello')
    expect(text).toContain('the agent printed (agent/oracle.txt):\n  | a red line\n  | \\x1b]0;title\\x07bell\n')
    expect(text).toContain('ot-agent tasks shell /tasks/hello --tests')
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

  test('a missing job or trial is a two-line error', async () => {
    await makeJob('done', records, 4)
    await expect(run(show, 'gone')).rejects.toThrow(`found neither gone nor ${join(jobsDir, 'gone')}`)
    await expect(run(show, 'done', '--trial', 'x')).rejects.toThrow('has no finished trial "x"')
    await expect(run(show, 'done', '--trial', '')).rejects.toThrow('has 4 trials that start with ""')
  })
})

describe('every command finds a job by its bare name', () => {
  const out = async (name: string) => join(await makeTempDir(), name)
  test.each<[string, MakeCommand, () => Promise<string[]>]>([
    ['jobs show', show, async () => []],
    ['jobs report', report, async () => []],
    ['traces stats', stats, async () => []],
    ['traces export', exportTraces, async () => ['--out', await out('dataset')]],
    ['eval report', evalReport, async () => []],
    ['registry ingest', ingest, async () => ['--registry', await out('registry.db')]],
    ['view', view, async () => ['--export', await out('site')]],
  ])('%s', async (_, make, words) => {
    await makeJob('nightly', [someRecord()], 1)
    await expect(run(make, 'nightly', ...(await words()))).resolves.toBeDefined()
    await expect(run(make, 'nightlyy', ...(await words()))).rejects.toThrow('nightlyy')
  })
})

test('a folder that is no job does not hide the job of the same name', async () => {
  await makeJob('examples', [someRecord()], 1)
  expect(await run(show, 'examples')).toContain(`${join(jobsDir, 'examples')}`)
  expect(JSON.parse(await run(evalReport, 'examples', '--json')).runs).toHaveLength(1)
  await expect(run(show, 'docs')).rejects.toThrow('a directory without the config.json of a job')
})

test('resume finds a job by its bare name', async () => {
  await makeJob('nightly', [someRecord()], 1)
  // The job was found; it just has no tasks.
  await expect(run(resume, 'nightly')).rejects.toThrow('expected tasks to run, got none')
  await expect(run(resume, 'other')).rejects.toThrow('found neither other nor')
})

test('a job that is nearly called so is suggested', async () => {
  await makeJob('nightly', [someRecord()], 1)
  await expect(run(show, 'nigthly')).rejects.toMatchObject({ hint: `did you mean ${join(jobsDir, 'nightly')}?` })
})

test('list takes a directory as its argument, which must exist', async () => {
  await makeJob('nightly', [someRecord()], 1)
  const printed = catchPrinted()
  await runCommand(list, ['ot-agent', 'jobs'], [jobsDir])
  expect(printed()).toMatch(/^nightly /m)
  await expect(runCommand(list, ['ot-agent', 'jobs'], [join(jobsDir, 'x')])).rejects.toThrow(
    'expected a directory of jobs, found nothing there',
  )
})
