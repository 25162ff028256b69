import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parquetWriteFile } from 'hyparquet-writer'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { finish } from '../../../test/contracts/trial-store.ts'
import { HubStandIn } from '../../../test/fakes/hub/server.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { someRecord, someTrialConfig } from '../../../test/records.ts'
import { readTree, type Tree } from '../../../test/trees.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import { defaultJobConfig } from '../../formats/harbor-job/job-config.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { openRegistry } from '../../registry/open.ts'
import { raw } from '../../registry/sql.ts'
import { createJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { packJob } from '../../store/packed/pack-job.ts'
import unpack from '../jobs/unpack.ts'
import download from './download.ts'
import upload from './upload.ts'

let hub: HubStandIn
let dir: string
beforeEach(async () => {
  hub = await HubStandIn.start()
  for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
  dir = await makeTempDir()
})
afterEach(() => hub.close())

async function run(make: MakeCommand, group: string, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', group], argv)
  return printed()
}

async function makeJob(jobName: string): Promise<string> {
  const jobDir = join(dir, 'jobs', jobName)
  const config = defaultJobConfig({ jobName, jobsDir: join(dir, 'jobs') })
  const lock = { createdAt: '', invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await mkdir(join(dir, 'jobs'), { recursive: true })
  await createJobDir(jobDir, { id: jobName, identity: {}, startedAt: '', layout: 'harbor', config, lock })
  const store = await openTrialStore(jobDir, 'harbor')
  for (const name of ['a', 'b']) {
    await finish(store, someRecord({ name }))
    await mkdir(join(jobDir, name, 'agent'), { recursive: true })
    await writeFile(join(jobDir, name, 'agent', 'said.txt'), `${jobName} ${name}\u0000\u2028\r\n`)
  }
  return jobDir
}

/** Uploads, downloads and unpacks; returns the folder of jobs that came back. */
async function roundTrip(from: string): Promise<string> {
  const done = JSON.parse(await run(upload, 'hub', from, 'me/logs', '--json', '--replace'))
  expect([...done.added].sort()).toEqual(['README.md', 'logs.parquet'])
  const out = join(await makeTempDir(), 'logs')
  await run(download, 'hub', 'me/logs', '--out', out)
  const jobs = join(await makeTempDir(), 'jobs')
  await run(unpack, 'jobs', join(out, 'logs.parquet'), '--jobs-dir', jobs)
  return jobs
}

/** Uploads keep only whether a file is executable; many users' umask leaves more mode bits. */
function withUsualModes(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree).map(([path, entry]) => [
      path,
      'mode' in entry ? { ...entry, mode: entry.mode & 0o100 ? 0o755 : 0o644 } : entry,
    ]),
  )
}

test('jobs are uploaded as one file with a row for each trial, and come back as they were', async () => {
  await makeJob('one')
  await makeJob('two')
  const before = withUsualModes(await readTree(join(dir, 'jobs')))
  const jobs = await roundTrip(join(dir, 'jobs'))
  expect(await readTree(jobs)).toEqual(before)
  const card = hub.repo('me/logs').commit('main')?.files.get('README.md')?.data.toString() ?? ''
  expect(card).toContain('Raw jobs of agents, 6 rows')
  expect(card).toContain('job one (2), job two (2)')
  await expect(roundTrip(join(jobs, 'one', 'a'))).rejects.toThrow()
})

test('a packed job comes back as one with directories', async () => {
  const jobDir = await makeJob('one')
  const before = withUsualModes(await readTree(jobDir))
  await packJob(jobDir)
  const jobs = await roundTrip(jobDir)
  expect(await readdir(jobs)).toEqual(['one'])
  expect(await readTree(join(jobs, 'one'))).toEqual(before)
})

test('links and trials that are not finished are left out, and named', async () => {
  const jobDir = await makeJob('one')
  await symlink('/etc/passwd', join(jobDir, 'a', 'agent', 'passwd'))
  const store = await openTrialStore(jobDir, 'harbor')
  await store.begin(someTrialConfig({ trialName: 'half' }))
  const done = JSON.parse(await run(upload, 'hub', jobDir, 'me/logs', '--json'))
  expect(done).toMatchObject({ rows: 3, leftOut: ['one/a/agent/passwd', 'one/half'] })
})

test('--unpacked sends a job as it is', async () => {
  const jobDir = await makeJob('one')
  const done = JSON.parse(await run(upload, 'hub', jobDir, 'me/logs', '--json', '--unpacked'))
  expect(done.added).toContain('a/agent/said.txt')
})

test('what is no file of jobs, or would overwrite one, is refused and leaves nothing', async () => {
  const jobDir = await makeJob('one')
  const file = join(dir, 'rows.parquet')
  const out = join(dir, 'out')
  await packTasks([{ path: 'one/a', dir: join(jobDir, 'a') }], file)
  await expect(run(unpack, 'jobs', file, '--jobs-dir', out)).rejects.toThrow('expected jobs')
  await mkdir(join(dir, 'clash', 'a'), { recursive: true })
  await writeFile(join(dir, 'clash', 'config.json'), '{}')
  await writeFile(join(dir, 'clash', 'a', 'x'), '')
  await packTasks(
    [
      { path: 'one/_job', dir: join(dir, 'clash') },
      { path: 'one/a', dir: join(jobDir, 'a') },
    ],
    file,
  )
  await expect(run(unpack, 'jobs', file, '--jobs-dir', out)).rejects.toThrow('the same name "a"')
  expect(await readdir(out)).toEqual([])
  await run(upload, 'hub', jobDir, `file:${join(dir, 'set')}`)
  await expect(run(unpack, 'jobs', join(dir, 'set', 'logs.parquet'), '--jobs-dir', join(dir, 'jobs'))).rejects.toThrow(
    'exists already',
  )
})

describe('--register', () => {
  const inRegistry = async (query: string) => {
    await using database = await openRegistry(join(dir, 'registry.db'))
    return database.rows(z.record(z.string(), z.unknown()), raw(query))
  }
  const register = (from: string, to: string, ...more: string[]) =>
    run(upload, 'hub', from, to, '--register', '--registry', join(dir, 'registry.db'), ...more)
  const dataset = 'SELECT name, dataset_type, data_location, num_tasks, num_rows, hf_commit_hash FROM datasets'

  test('puts traces into the registry with where they are, as what, and as which commit', async () => {
    await mkdir(join(dir, 'traces', 'data'), { recursive: true })
    const columnData = ['task', 'model'].map((name) => ({ name, data: ['x', 'x', 'y'], type: 'STRING' as const }))
    parquetWriteFile({ filename: join(dir, 'traces', 'data', 'train-00000-of-00001.parquet'), columnData })
    await register(join(dir, 'traces'), 'me/traces', '--dataset-type', 'RL')
    const commit = hub.repo('me/traces').commit('main')?.sha
    const row = { name: 'me/traces', dataset_type: 'RL', data_location: 'me/traces', num_tasks: 2, num_rows: 3 }
    expect(await inRegistry(dataset)).toEqual([{ ...row, hf_commit_hash: commit }])
    // Sending the same files again uploads nothing and keeps the known commit.
    await register(join(dir, 'traces'), 'me/traces', '--dataset-type', 'SFT')
    expect(await inRegistry(dataset)).toEqual([{ ...row, dataset_type: 'SFT', hf_commit_hash: commit }])
  })

  test('puts tasks and jobs there too', async () => {
    await register('examples/tasks', 'me/tasks')
    expect(await inRegistry(dataset)).toMatchObject([
      { name: 'me/tasks', dataset_type: 'tasks', num_tasks: (await readdir('examples/tasks')).length },
    ])
    await register(await makeJob('one'), 'me/logs')
    expect(await inRegistry('SELECT job_name, hf_traces_link FROM sandbox_jobs')).toEqual([
      { job_name: 'one', hf_traces_link: 'https://huggingface.co/datasets/me/logs' },
    ])
  })

  test('an upload that cannot be registered still stands, and the exit code says so', async () => {
    await mkdir(join(dir, 'notes'))
    await writeFile(join(dir, 'notes', 'a.txt'), 'a')
    await register(join(dir, 'notes'), 'me/notes')
    expect(process.exitCode).toBe(3)
    process.exitCode = 0
    expect(hub.repo('me/notes').commit('main')?.files.has('a.txt')).toBe(true)
    await expect(register(join(dir, 'notes'), 'me/notes', '--registry', 'mysql://x/y')).rejects.toThrow(
      'begins with mysql',
    )
    await register(join(dir, 'notes'), 'me/notes', '--dry-run')
    expect(process.exitCode).toBe(0)
  })
})
