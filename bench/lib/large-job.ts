import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { planJob, prepareJob } from '../../src/app/job/prepare-job.ts'
import type { TrialRecord } from '../../src/core/trial.ts'
import { renderTrialConfig } from '../../src/formats/harbor-job/job-config.ts'
import { renderTrialResult } from '../../src/formats/harbor-job/trial-result.ts'
import { renderTrialRecord } from '../../src/store/trial-record.ts'
import { writeTask } from '../../test/fakes/tasks.ts'

export interface LargeJob {
  readonly dir: string
  readonly jobsDir: string
  /** The command line that runs it, or reruns it. */
  readonly run: readonly string[]
}

const taskCount = 500

/** A job of many finished trials: one of them really ran, the others are copies under the names in its plan. */
export async function makeLargeJob(scratch: string, trials: number): Promise<LargeJob> {
  const tasks = join(scratch, 'tasks')
  const jobsDir = join(scratch, 'jobs')
  for (let i = 0; i < taskCount; i++) await writeTask(tasks, `task-${String(i).padStart(4, '0')}`)
  const request = {
    tasks,
    agent: 'oracle',
    sandbox: 'local',
    attempts: Math.ceil(trials / taskCount),
    jobsDir,
    jobName: 'large',
  }
  const real = runOne(join(tasks, 'task-0000'), join(scratch, 'real'))
  const record: TrialRecord = JSON.parse(readFileSync(join(real, 'record.json'), 'utf8'))
  const copied = readCopied(real)
  const planned = await planJob(request, () => {})
  const { open } = await prepareJob(planned, request, { notify: () => {}, invocation: ['bench'] })
  const { dir, plan } = await open(async () => {})
  for (const [nth, { name, task, attempt, config }] of plan.entries()) {
    const { digests, name: taskName } = task
    const facts = {
      name: taskName,
      path: task.dir,
      source: config.task.source,
      digest: digests.content,
      checksum: digests.dirhash,
    }
    const own = { id: randomUUID(), name, attempt, config, task: facts }
    writeTrial(copied, join(dir, name), { ...later(record, 1500 * nth), ...own })
  }
  const run = [
    'run',
    '-p',
    tasks,
    '-a',
    'oracle',
    '-e',
    'local',
    '-k',
    String(request.attempts),
    '-o',
    jobsDir,
    '--job-name',
    'large',
  ]
  return { dir, jobsDir, run }
}

/** The same trial at another time: no two trials of a job have all their times in common. */
function later(record: TrialRecord, ms: number): TrialRecord {
  const moved = (at: string) =>
    new Date(Date.parse(at) + ms).toISOString().slice(0, -1) + at.slice('2000-01-01T00:00:00.000'.length)
  return JSON.parse(JSON.stringify(record), (key, value) =>
    /^(started|finished)At$/.test(key) && value ? moved(value) : value,
  )
}

/** The directory of a trial that the program ran. */
function runOne(task: string, jobsDir: string): string {
  const run = ['run', '-p', task, '-a', 'oracle', '-e', 'local', '-o', jobsDir, '--job-name', 'real', '-q']
  execFileSync(process.execPath, [resolve('bin/ot-agent.js'), ...run], { stdio: 'ignore' })
  const job = join(jobsDir, 'real')
  const [trial] = readdirSync(job, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.'),
  )
  if (!trial) throw new Error('the trial that is to be copied did not end')
  return join(job, trial.name)
}

/** A file that all copies of a trial share, or a directory, which has no bytes. */
interface Copied {
  readonly path: string
  readonly bytes: Uint8Array | null
}

/**
 * Directories come before their content. Kept in memory, because reading from disk takes most of the time of a copy.
 */
function readCopied(real: string): Copied[] {
  const own = ['config.json', 'record.json', 'result.json']
  const paths = readdirSync(real, { recursive: true, encoding: 'utf8' }).filter((path) => !own.includes(path))
  return paths.sort().map((path) => ({ path, bytes: bytesOf(join(real, path)) }))
}

function bytesOf(path: string): Uint8Array | null {
  return statSync(path).isDirectory() ? null : readFileSync(path)
}

function writeTrial(copied: readonly Copied[], dir: string, record: TrialRecord): void {
  mkdirSync(dir)
  for (const { path, bytes } of copied) {
    if (bytes === null) mkdirSync(`${dir}/${path}`)
    else writeFileSync(`${dir}/${path}`, bytes)
  }
  writeFileSync(`${dir}/config.json`, renderTrialConfig(record.config))
  writeFileSync(`${dir}/record.json`, renderTrialRecord(record))
  writeFileSync(`${dir}/result.json`, renderTrialResult(record))
}
