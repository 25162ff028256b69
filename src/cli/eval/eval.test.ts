import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed, someRecord } from '../../../test/records.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { createJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import compare from './compare.ts'
import power from './power.ts'
import report from './report.ts'

let jobsDir: string
beforeEach(async () => {
  jobsDir = await makeTempDir()
})

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'eval'], [...argv, '--jobs-dir', jobsDir])
  return printed()
}

async function makeJob(name: string, records: readonly TrialRecord[]): Promise<void> {
  const dir = join(jobsDir, name)
  const startedAt = '2026-11-15T00:00:55.187153Z'
  const config = defaultJobConfig({ jobName: name, jobsDir })
  const lock = { createdAt: startedAt, invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(dir, { id: name, identity: {}, startedAt, layout: 'packed', config, lock })
  const store = await openTrialStore(dir, 'packed')
  for (const record of records) {
    await store.begin(record.config)
    await store.commit(record)
  }
  await store.close()
}

let trials = 0
function trial(task: string, reward: number | Rewards | null, over: Partial<TrialRecord> = {}): TrialRecord {
  const base = someRecord()
  const name = `trial-${trials++}`
  const rewards = typeof reward === 'number' ? { reward } : reward
  const end = rewards === null ? failed() : ({ kind: 'scored', rewards, exit: { kind: 'finished' } } as const)
  const config = { ...base.config, trialName: name }
  return { ...base, id: name, name, config, task: { ...base.task, name: task }, end, steps: null, ...over }
}

/** Tasks t0, t1, ... with one reward each. */
const tasksWith = (...rewards: number[]) => rewards.map((reward, i) => trial(`t${i}`, reward))

test('a job is scored by task, and infrastructure failures are counted, not scored', async () => {
  await makeJob('one', [trial('a', 1), trial('a', 1), trial('b', 0), trial('b', 1), trial('c', null)])
  const scored = JSON.parse(await run(report, 'one', '--json'))
  expect(scored.runs).toMatchObject([
    {
      name: 'one',
      state: 'partial',
      reasons: ['1 of 5 trials ended in an infrastructure failure, more than 5 %'],
      accuracy: { mean: 0.75, tasks: 2, trials: 4 },
      accuracyOverAll: 0.5,
      passes: [
        { k: 1, any: 0.75, all: 0.75, tasks: 2 },
        { k: 2, any: 1, all: 0.5, tasks: 2 },
      ],
      trials: { trials: 5, scored: 4, failed: 1, cancelled: 0 },
      failures: [{ boundary: 'sandbox', code: 'SandboxError', trials: 1 }],
      stops: { finished: 4 },
      phaseSec: { verifier: { count: 5, p50: 1.5 } },
    },
  ])
  expect(JSON.parse(await run(report, 'one', '--json', '--max-failed', '20')).runs[0].state).toBe('complete')
  const files = await Promise.all(
    ['md', 'html'].map((end) => readFile(join(jobsDir, 'one', `eval-report.${end}`), 'utf8')),
  )
  for (const text of files) expect(text).toMatch(/75\.0 % \(\d/)
})

test('all solved is not certainty, and a job of two tasks says so', async () => {
  await makeJob('two', tasksWith(1, 1))
  expect(await run(report, 'two')).toContain('100.0 % (15.8 to 100.0)')
})

test('a metric is averaged over the tasks that have it', async () => {
  await makeJob('many', [
    trial('a', { reward: 1, dates: 0.5 }),
    ...['b', 'c', 'd', 'e', 'f'].map((task) => trial(task, 1)),
  ])
  const [one] = JSON.parse(await run(report, 'many', '--json')).runs
  expect(one.metrics).toMatchObject([
    { name: 'dates', mean: 0.5, tasks: 1, ofTasks: 6 },
    { name: 'reward', mean: 1, tasks: 6, ofTasks: 6 },
  ])
  expect(await run(report, 'many')).toMatch(/dates +0\.500 \(.*\) +1 of 6/)
})

test('models of one job are scored apart and can be compared', async () => {
  const agent = (model: string) => ({ agent: { name: 'terminus-2', version: '1', model } })
  const each = (model: string, reward: number) =>
    Array.from({ length: 8 }, (_, i) => trial(`t${i}`, reward, agent(model)))
  await makeJob('pair', [...each('good', 1), ...each('bad', 0)])
  const { runs } = JSON.parse(await run(report, 'pair', '--json'))
  expect(runs.map(({ name }: { name: string }) => name)).toEqual([
    'pair: terminus-2__good__tasks',
    'pair: terminus-2__bad__tasks',
  ])
  expect(await run(compare, 'pair')).toMatch(
    /^pair: terminus-2__good__tasks is better than pair: terminus-2__bad__tasks by 100\.0 points/,
  )
})

test('two jobs are compared task by task in one sentence, and noise is undecided', async () => {
  await makeJob('better', tasksWith(1, 1, 1, 1, 1, 1, 1, 1))
  await makeJob('worse', tasksWith(0, 0, 0, 0, 0, 0, 0, 0))
  await makeJob('mixed', tasksWith(0, 1, 1, 1, 1, 1, 1, 1))
  const found = JSON.parse(await run(compare, 'worse', 'better', '--json'))
  expect(found.pairs).toMatchObject([
    { difference: { mean: -1, tasks: 8, trials: 16 }, p: 2 / 256, exact: true, verdict: 'second' },
  ])
  expect(found.pairs[0].difference.high).toBeGreaterThan(-1)
  expect(found.runs.map(({ rank }: { rank: number }) => rank)).toEqual([2, 1])
  expect(await run(compare, 'better', 'mixed')).toMatch(
    /^Undecided: the difference between better and mixed, \+12\.5 points, is within noise \(95 % interval −.* to \+.*, p = 1\.0, 8 tasks\)\.\n/,
  )
  const three = JSON.parse(await run(compare, 'better', 'worse', 'mixed', '--json'))
  expect(three.runs.map(({ rank }: { rank: number }) => rank)).toEqual([1, 3, 1])
  expect(three.pairs[0].adjustedP).toBeCloseTo((3 * 2) / 256)
})

test('jobs of one name in several folders are told apart', async () => {
  await makeJob('first/eval/model', tasksWith(1, 1, 1, 1, 1, 1, 1, 1))
  await makeJob('second/eval/model', tasksWith(0, 0, 0, 0, 0, 0, 0, 0))
  const [first, second] = [join(jobsDir, 'first/eval/model'), join(jobsDir, 'second/eval/model')]
  expect(await run(compare, first, second)).toMatch(/^first\/eval\/model is better than second\/eval\/model by 100\.0/)
  await makeJob('other', tasksWith(1, 1))
  const { runs } = JSON.parse(await run(compare, first, 'other', '--json'))
  expect(runs.map(({ name }: { name: string }) => name)).toEqual(['model', 'other'])
})

test('a partial result is compared and said to be partial, but has no rank', async () => {
  await makeJob('whole', tasksWith(1, 0, 1))
  await makeJob('broken', [...tasksWith(1, 0, 1), trial('t3', null)])
  const { runs, pairs } = JSON.parse(await run(compare, 'whole', 'broken', '--json'))
  expect(runs.map(({ rank }: { rank: number }) => rank)).toEqual([1, null])
  expect(pairs[0].sentence).toMatch(/The result of broken is partial\.$/)
})

test('a task that is another under the same name is left out', async () => {
  await makeJob('old', tasksWith(1, 0, 1))
  const changed = tasksWith(1, 1, 1).map((record, i) =>
    i === 0 ? { ...record, task: { ...record.task, checksum: 'ef'.repeat(32) } } : record,
  )
  await makeJob('new', [...changed, trial('t9', 1)])
  const text = await run(compare, 'old', 'new')
  expect(text).toContain('1 tasks scored only in the second, 1 tasks with the same name but different files')
  expect(text).toContain('2 tasks)')
})

test('jobs without tasks in common, and one alone, are refused', async () => {
  await makeJob('one', [trial('a', 1)])
  await makeJob('two', [trial('b', 1)])
  await expect(run(compare, 'one', 'two')).rejects.toThrow('one and two have no scored task in common')
  await expect(run(compare, 'one')).rejects.toThrow('expected at least two results to compare, got 1')
})

test('names of tasks and models are text and nothing else, in every file', async () => {
  const hostile = '<script>alert(1)</script>|`x`\u001b[31m](javascript:1)\n# x'
  const agent = { name: 'a', version: '1', model: `x/${hostile}` }
  await makeJob('hostile', [trial(hostile, 1, { agent }), trial('b', 0, { agent })])
  await makeJob('other', [trial(hostile, 0), trial('b', 1)])
  const html = join(jobsDir, 'page.html')
  const markdown = join(jobsDir, 'page.md')
  const printed =
    (await run(report, 'hostile')) + (await run(compare, 'hostile', 'other', '--html', html, '--markdown', markdown))
  const read = (path: string) => readFile(path, 'utf8')
  const pages = [await read(html), await read(join(jobsDir, 'hostile', 'eval-report.html'))]
  const texts = [await read(markdown), await read(join(jobsDir, 'hostile', 'eval-report.md'))]
  for (const text of [...pages, ...texts, printed]) expect(text).not.toContain('\u001b')
  for (const page of pages) {
    expect(page).toContain('&#60;script&#62;')
    expect(page).not.toMatch(/<script|<img|\bsrc=|\bhref=|url\(|@import/i)
    expect(page.replace('http://www.w3.org/2000/svg', '')).toContain("default-src 'none'")
    expect(page.match(/https?:/g)?.length).toBe(page.match(/<svg/g)?.length)
  }
  for (const text of texts) {
    expect(text).toContain('\\<script\\>')
    expect(text).not.toMatch(/(^|[^\\])[<`]/)
    expect(text).not.toMatch(/^# x/m)
  }
})

test('power comes from given numbers, from a pilot, or from two', async () => {
  const given = JSON.parse(await run(power, '--tasks', '89', '-k', '5', '--rate', '30', '--effect', '5', '--json'))
  expect(given).toMatchObject({
    design: { rate: 0.3, tasks: 89, attempts: 5 },
    sources: { rate: 'given', clustering: 'assumed, as measured on Terminal-Bench 2.0' },
    forEffect: { effect: 0.05 },
  })
  expect(given.detectableEffect).toBeGreaterThan(0.05)
  expect(given.forEffect.requiredTasks).toBeGreaterThan(89)
  const pilot = (flip: number) =>
    [0, 1, 2, 3, 4, 5].flatMap((i) => [trial(`t${i}`, i % 2), trial(`t${i}`, i === flip ? 1 - (i % 2) : i % 2)])
  await makeJob('pilot', pilot(0))
  await makeJob('again', pilot(3))
  const found = JSON.parse(await run(power, 'pilot', 'again', '-k', '4', '--json'))
  expect(found.design).toMatchObject({ tasks: 6, attempts: 4 })
  expect(found.sources).toMatchObject({ attempts: 'given', tasks: 'pilot pilot', correlation: 'pilot pilot and again' })
  expect(await run(power, 'pilot')).toMatch(/Detectable 80 % of the time: a difference of \d+\.\d points\./)
  await expect(run(power, '--rate', '130')).rejects.toThrow('expected a number from 0 to 100')
  await makeJob('new', [])
  await expect(run(power, 'new')).rejects.toThrow('expected a job with trials that have ended, found none')
  await expect(run(compare, 'pilot', 'new')).rejects.toThrow('expected a job with trials that have ended, found none')
  await expect(run(power, 'pilot', 'pilot', 'pilot')).rejects.toThrow('expected at most two pilot jobs, got 3')
})
