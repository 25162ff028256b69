import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openHarborLayout } from '../../src/store/harbor-layout.ts'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const tasks = join(scratch, 'tasks')
const jobs = join(scratch, 'jobs')
const toml = 'artifacts = ["/answer"]\n[verifier]\nenvironment_mode = "separate"\n'

withSandboxes('kill -9 while jobs rescore writes a new score', () => {
  let trial: string

  beforeAll(async () => {
    await writeTask(tasks, 'small', { toml, test: 'echo 0 > /logs/verifier/reward.txt' })
    command(['run', '-p', tasks, '-a', 'oracle', '-o', jobs, '--job-name', 'before', '-q'])
    trial = readdirSync(join(jobs, 'before')).find((name) => name.startsWith('small__')) ?? ''
    await writeTask(tasks, 'small', { toml })
  })

  test.each([
    ['before the new score has a place', '.replacement/record.json', 0],
    ['before the trial has it', '__TRIAL__/result.json', 0],
    ['before its files are moved', '__TRIAL__/verifier', 1],
    ['before its record is moved', '__TRIAL__/record.json', 1],
    ['before the job has it', 'job/result.json', 1],
  ])('%s: all files of results agree with our reader, and the next rescore finishes', async (_, moment, reward) => {
    const job = join(jobs, 'job')
    rmSync(job, { recursive: true, force: true })
    cpSync(join(jobs, 'before'), job, { recursive: true })
    const dieAt = moment.replace('__TRIAL__', trial)
    const died = command(['jobs', 'rescore', job], dieAt)
    expect(died.signal, died.stderr).toBe('SIGKILL')
    expect(rewardIn(join(job, trial))).toEqual({ reward })
    const ends: unknown[] = []
    for await (const { end } of openHarborLayout(job, {}).records()) ends.push(end)
    expect(ends).toMatchObject([{ rewards: { reward } }])
    const again = command(['jobs', 'rescore', job])
    expect(again.status, again.stderr).toBe(0)
    expect(rewardIn(join(job, trial))).toEqual({ reward: 1 })
    expect(readdirSync(join(job, trial))).not.toContain('.replacement')
    expect(readFileSync(join(job, trial, 'verifier/reward.txt'), 'utf8')).toBe('1\n')
    const { evals } = JSON.parse(readFileSync(join(job, 'result.json'), 'utf8')).stats
    expect(Object.values(evals)).toMatchObject([{ metrics: [{ mean: 1 }] }])
  })
})

/** The reward as Harbor's tools read it. */
function rewardIn(trialDir: string) {
  return JSON.parse(readFileSync(join(trialDir, 'result.json'), 'utf8')).verifier_result.rewards
}

function command(words: readonly string[], dieAt?: string) {
  const hook = dieAt === undefined ? [] : ['--import', resolve('test/e2e/die-at.mjs')]
  return spawnSync(process.execPath, [...hook, 'bin/ot-agent.js', ...words], {
    encoding: 'utf8',
    env: { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), ...(dieAt !== undefined && { DIE_AT: dieAt }) },
  })
}
