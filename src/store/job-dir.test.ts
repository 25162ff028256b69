import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseJobLock } from '../../test/job-lock.ts'
import { someTrialConfig } from '../../test/records.ts'
import { defaultJobConfig } from '../formats/harbor-job/job-config.ts'
import { makeLiveStats } from '../stats/live-stats.ts'
import {
  appendJobLog,
  createJobDir,
  isFinished,
  listJobs,
  loadJobDir,
  type NewJob,
  saveJobConfig,
  saveJobResult,
} from './job-dir.ts'

const fixture = new URL('../../test/fixtures/harbor-job/made-by-harbor', import.meta.url)
let jobsDir: string
beforeEach(async () => {
  jobsDir = await mkdtemp(join(tmpdir(), 'ot-jobs-'))
})
afterEach(() => rm(jobsDir, { recursive: true, force: true }))

const newJob = (over: Partial<NewJob> = {}): NewJob => {
  const { agent, environment, verifier, timeoutMultipliers } = someTrialConfig()
  const task = {
    name: 'hello',
    type: 'local',
    digest: 'ab'.repeat(32),
    source: null,
    path: '/t',
    gitUrl: null,
    gitCommitId: null,
  } as const
  const trials = [{ task, agent, environment, verifier, timeoutMultipliers }]
  const config = defaultJobConfig({ jobName: 'one', environment })
  const startedAt = '2026-11-15T00:00:55.187153Z'
  const lock = {
    createdAt: startedAt,
    invocation: ['run', '-p', 't'],
    nConcurrentTrials: 4,
    retry: config.retry,
    trials,
  }
  return {
    id: '6856a1de-0000-4000-8000-000000000001',
    identity: { tasks: { a: ['b'] } },
    startedAt,
    layout: 'harbor',
    config,
    lock,
    ...over,
  }
}
const result = (finishedAt: string | null) => ({
  id: 'x',
  startedAt: '2026-11-15T00:00:55.187153Z',
  updatedAt: null,
  finishedAt,
  totalTrials: 1,
  stats: makeLiveStats().stats({ total: 1, running: 0, retries: 0 }),
})

test('a new job has its config, lock and own file, and reads back', async () => {
  const dir = join(jobsDir, 'deep', 'one')
  const job = newJob()
  await createJobDir(dir, job, {})
  expect((await readdir(dir)).sort()).toEqual(['config.json', 'job.json', 'lock.json'])
  const { config, lock: _, ...own } = job
  expect(await loadJobDir(dir)).toEqual({
    dir,
    name: 'one',
    config,
    own: { schema: 'job/1', ...own },
    result: null,
    layout: 'harbor',
  })
  expect(parseJobLock(await readFile(join(dir, 'lock.json'), 'utf8')).trials).toEqual(job.lock.trials)
})

test('a job is finished once its result says so', async () => {
  const dir = join(jobsDir, 'one')
  await createJobDir(dir, newJob({ layout: 'packed' }), {})
  await saveJobResult(dir, result(null))
  const running = await loadJobDir(dir)
  expect([running.layout, isFinished(running)]).toEqual(['packed', false])
  await saveJobResult(dir, result('2026-11-15T00:01:55.187153Z'))
  await saveJobConfig(dir, { ...running.config, nConcurrentTrials: 9 }, {})
  const done = await loadJobDir(dir)
  expect([isFinished(done), done.config.nConcurrentTrials]).toEqual([true, 9])
})

test('settings that have not changed are not written again', async () => {
  const dir = join(jobsDir, 'one')
  const job = newJob()
  await createJobDir(dir, job, {})
  const { ino } = await stat(join(dir, 'config.json'))
  await saveJobConfig(dir, job.config, {})
  expect((await stat(join(dir, 'config.json'))).ino).toBe(ino)
  await rm(join(dir, 'config.json'))
  await saveJobConfig(dir, job.config, {})
  expect((await loadJobDir(dir)).config).toEqual(job.config)
})

test('lines are added to the log', async () => {
  for (const line of ['one', 'two']) await appendJobLog(jobsDir, line)
  expect(await readFile(join(jobsDir, 'job.log'), 'utf8')).toBe('one\ntwo\n')
})

test("listing finds our jobs and Harbor's, no trials or other directories, and reports broken ones", async () => {
  await createJobDir(join(jobsDir, 'b-ours'), newJob(), {})
  await cp(fixture, join(jobsDir, 'a-harbor'), { recursive: true })
  await cp(join(fixture.pathname, 'hello__AbC23de'), join(jobsDir, 'a-trial'), { recursive: true })
  await mkdir(join(jobsDir, 'stranger'))
  await mkdir(join(jobsDir, 'broken'))
  await writeFile(join(jobsDir, 'broken', 'config.json'), '{')
  await writeFile(join(jobsDir, 'file'), '')
  const { jobs, broken } = await listJobs(jobsDir)
  expect(jobs.map(({ name, own }) => [name, own !== null])).toEqual([
    ['a-harbor', false],
    ['b-ours', true],
  ])
  expect(broken).toMatchObject([{ name: 'broken', why: expect.stringContaining('expected JSON') }])
})

describe('bad input is two lines', () => {
  const userError = (message: RegExp) =>
    expect.objectContaining({ name: 'UserError', message: expect.stringMatching(message) })

  test('a path that is not a job', async () => {
    await writeFile(join(jobsDir, 'file'), '')
    await cp(join(fixture.pathname, 'hello__AbC23de'), join(jobsDir, 'trial'), { recursive: true })
    await expect(loadJobDir(join(jobsDir, 'missing'))).rejects.toThrow(
      userError(/expected the directory of a job, found nothing there$/),
    )
    await expect(loadJobDir(join(jobsDir, 'file'))).rejects.toThrow(userError(/found a file$/))
    await expect(loadJobDir(jobsDir)).rejects.toThrow(userError(/found a directory without the config.json of a job$/))
    await expect(loadJobDir(join(jobsDir, 'trial'))).rejects.toThrow(
      userError(/found a directory without the config.json of a job$/),
    )
    await expect(listJobs(join(jobsDir, 'missing'))).rejects.toThrow(
      userError(/expected a directory of jobs, found nothing there$/),
    )
    await expect(listJobs(join(jobsDir, 'file'))).rejects.toThrow(userError(/found a file$/))
  })

  test('a place where no job can be made keeps no leftovers', async () => {
    await writeFile(join(jobsDir, 'file'), '')
    await expect(createJobDir(join(jobsDir, 'file', 'one'), newJob(), {})).rejects.toThrow(
      userError(/part of the path is a file/),
    )
    await expect(createJobDir('/sys/jobs/one', newJob(), {})).rejects.toThrow(
      userError(/^\/sys\/jobs\/one: cannot create /),
    )
    await createJobDir(join(jobsDir, 'one'), newJob(), {})
    await expect(createJobDir(join(jobsDir, 'one'), newJob(), {})).rejects.toThrow(
      userError(/expected a new directory, but it already exists$/),
    )
    expect((await readdir(jobsDir)).sort()).toEqual(['file', 'one'])
  })

  test('a job file that cannot be read', async () => {
    await createJobDir(join(jobsDir, 'one'), newJob(), {})
    await writeFile(join(jobsDir, 'one', 'job.json'), '{"schema": "job/9"}')
    await expect(loadJobDir(join(jobsDir, 'one'))).rejects.toThrow(userError(/job\.json: schema: /))
    await writeFile(join(jobsDir, 'one', 'job.json'), 'half')
    await expect(loadJobDir(join(jobsDir, 'one'))).rejects.toThrow(userError(/job\.json: expected JSON, got "half"$/))
  })
})
