import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { failed, someRecord } from '../../../test/records.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { createJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import compare from './compare.ts'
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
function trial(task: string, reward: number | null): TrialRecord {
  const base = someRecord()
  const name = `trial-${trials++}`
  const end =
    reward === null ? failed() : ({ kind: 'scored', rewards: { reward }, exit: { kind: 'finished' } } as const)
  const config = { ...base.config, trialName: name }
  return { ...base, id: name, name, config, task: { ...base.task, name: task }, end, steps: null }
}

test('a job is scored by task, and what the world failed is counted, not scored', async () => {
  await makeJob('one', [trial('a', 1), trial('a', 1), trial('b', 0), trial('b', 1), trial('c', null)])
  const scored = JSON.parse(await run(report, 'one', '--json'))
  expect(scored).toMatchObject({
    score: { mean: 0.75, tasks: 2, trials: 4 },
    leastScore: 0.5,
    passAtK: { 'pass@1': 0.75, 'pass@2': 1 },
    trials: { scored: 4, failed: 1, cancelled: 0 },
  })
  expect(await readFile(join(jobsDir, 'one', 'eval-report.md'), 'utf8')).toContain('75.0 % ± ')
})

test('two jobs are compared task by task, and chance is called chance', async () => {
  await makeJob(
    'better',
    ['a', 'b', 'c', 'd'].map((task) => trial(task, 1)),
  )
  await makeJob(
    'worse',
    ['a', 'b', 'c', 'd'].map((task) => trial(task, 0)),
  )
  await makeJob(
    'mixed',
    ['a', 'b', 'c', 'd'].map((task) => trial(task, task === 'a' ? 0 : 1)),
  )
  expect(JSON.parse(await run(compare, 'better', 'worse', '--json'))).toMatchObject({
    difference: { mean: 1 },
    sure: true,
  })
  expect(await run(compare, 'better', 'mixed')).toContain('which may well be chance')
})

test('jobs without tasks in common are refused', async () => {
  await makeJob('one', [trial('a', 1)])
  await makeJob('two', [trial('b', 1)])
  await expect(run(compare, 'one', 'two')).rejects.toThrow(/fewer than two scored tasks in common/)
})
