import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
const jobs = join(scratch, 'jobs')

withSandboxes('ot-agent jobs', () => {
  beforeAll(async () => {
    for (const name of ['one', 'two', 'three']) await writeTask(join(scratch, 'tasks'), name)
  })

  test('resume does what is missing, from the files of the job alone', () => {
    ot('run', '-p', 'tasks', '-o', 'jobs', '--job-name', 'resumed', '-q')
    const [lost] = trialsOf('resumed')
    rmSync(join(jobs, 'resumed', lost!, 'result.json'))
    rmSync(join(jobs, 'resumed', 'result.json'))
    const { status, stdout } = ot('jobs', 'resume', 'jobs/resumed', '--json')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ continued: true, finished: true, ends: { trials: 3, scored: 3 } })
    expect(readFileSync(join(jobs, 'resumed/job.log'), 'utf8')).toContain('resuming: 1 of 3 trials to run')
  })

  test('resume refuses tasks that changed', async () => {
    await writeTask(join(scratch, 'changing'), 'one')
    ot('run', '-p', 'changing', '-o', 'jobs', '--job-name', 'changed', '-q')
    await writeTask(join(scratch, 'changing'), 'one', { files: { 'README.md': 'new' } })
    const { status, stderr } = ot('jobs', 'resume', 'jobs/changed')
    expect(status).toBe(2)
    expect(stderr).toMatch(/task "one" changed: digest was/)
  })

  test('a secret on the command line is in no file, and resume asks for it instead of using the mask', () => {
    const secret = 'sk-abcdefghijklmnop'
    ot(
      'run',
      '-p',
      'tasks',
      '-o',
      'jobs',
      '--job-name',
      'secret',
      '-q',
      '--ae',
      `API_KEY=${secret}`,
      '--ve',
      `TOKEN=${secret}`,
      '--ae',
      `DATABASE=mysql://me:${secret}@db`,
      '--ae',
      `MODE=${secret}`,
    )
    const files = readdirSync(join(jobs, 'secret'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    )
    expect(files.length).toBeGreaterThan(10)
    for (const file of files) expect(readFileSync(join(file.parentPath, file.name), 'utf8')).not.toContain(secret)
    const { status, stderr } = ot('jobs', 'resume', 'jobs/secret')
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /agents\[0\]\.env\.API_KEY, .*env\.DATABASE, .*env\.MODE, verifier\.env\.TOKEN: [^\n]*literal values are never[^\n]*\nhint: .*--ae API_KEY=.*\$\{VARIABLE\}/,
    )
    const again = ['--ae', `API_KEY=${secret}`, '--ve', 'TOKEN=x1', '--ae', 'DATABASE=x2', '--ae', 'MODE=x3']
    const names = trialsOf('secret')
    const stranger = ot('jobs', 'resume', 'jobs/secret', '--ae', 'OTHER=1')
    expect(stranger).toMatchObject({ status: 2, stderr: expect.stringMatching(/^error: --ae OTHER: .+\nhint: .+\n$/) })
    expect(ot('jobs', 'resume', 'jobs/secret', '-q', ...again)).toMatchObject({ status: 0 })
    expect(trialsOf('secret')).toEqual(names)
  })

  test('retry runs only what is meant, and keeps what was there', async () => {
    await writeTask(join(scratch, 'endless'), 'endless', { test: 'sleep 60' })
    const patience = ['--set', 'verifier.override_timeout_sec=0.1']
    expect(ot('run', '-p', 'endless', '-o', 'jobs', '--job-name', 'retried', '-q', ...patience).status).toBe(3)
    const [trial] = trialsOf('retried')
    const aside = join(jobs, 'retried', trial!, 'failed-1.tar.gz')
    const misspelt = ot('jobs', 'retry', 'jobs/retried', '--only', 'infrastructure', '-q')
    expect(misspelt).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: --only: .+\nhint: .+\n$/),
    })
    expect(ot('jobs', 'retry', 'jobs/retried', '--only', 'infra', '-q').status).toBe(3)
    expect(existsSync(aside)).toBe(false)
    expect(ot('jobs', 'retry', 'jobs/retried', '--only', 'VerifierTimeoutError', '-q').status).toBe(3)
    expect(existsSync(aside)).toBe(true)
  })

  test('rescore lists what it did and what it could not', async () => {
    const toml = 'artifacts = ["/answer"]\n[verifier]\nenvironment_mode = "separate"\n'
    await writeTask(join(scratch, 'mixed'), 'apart', { toml, test: 'echo 0 > /logs/verifier/reward.txt' })
    await writeTask(join(scratch, 'mixed'), 'shared')
    ot('run', '-p', 'mixed', '-o', 'jobs', '--job-name', 'rescored', '-q')
    await writeTask(join(scratch, 'mixed'), 'apart', { toml })
    const { status, stdout } = ot('jobs', 'rescore', 'jobs/rescored', '--json')
    expect(status).toBe(0)
    expect(Object.values(JSON.parse(stdout).trials)).toEqual(
      expect.arrayContaining([
        { kind: 'rescored', before: { reward: 0 }, after: { reward: 1 } },
        { kind: 'not-rescorable', reason: expect.stringContaining("agent's own sandbox") },
      ]),
    )
  })

  test('a directory that is no job is refused in two lines', () => {
    for (const command of [['resume'], ['retry', '--only', 'failed'], ['rescore']]) {
      const { status, stderr } = ot('jobs', ...command, 'tasks')
      expect(status).toBe(2)
      expect(stderr).toMatch(/^error: tasks: expected the directory of a job, .+\nhint: .+\n$/)
    }
  })
})

function ot(...argv: string[]) {
  return spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...argv], { cwd: scratch, env, encoding: 'utf8' })
}

function trialsOf(job: string): string[] {
  return readdirSync(join(jobs, job)).filter((name) => name.includes('__'))
}
