import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const place = join(scratch, 'place')
const job = join(place, 'jobs/stopped')
const first = join(job, 'first__AbC23de')

/** A job that Harbor 0.25 left after the first of its two trials, with tasks from this checkout. */
beforeAll(async () => {
  cpSync('test/fixtures/harbor-job/stopped-by-0.25', job, { recursive: true })
  for (const file of readdirSync(job, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))) {
    const path = join(job, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('/place/', `${place}/`))
  }
  for (const name of ['first', 'second'])
    await writeTask(join(place, 'tasks'), name, {
      toml: 'artifacts = ["/srv/answer"]\n[verifier]\nenvironment_mode = "separate"\n',
      solve: 'mkdir -p /srv; echo 42 > /srv/answer',
      test: 'grep -qx 42 /srv/answer && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt',
    })
})

async function jobs(...args: string[]) {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), DOCKER_HOST: 'unix:///nowhere/docker.sock' }
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), 'jobs', ...args], {
    ...{ cwd: scratch, env, stdio: ['ignore', 'pipe', 'pipe'] },
  })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

const readJson = (...path: string[]) => JSON.parse(readFileSync(join(...path), 'utf8'))

withSandboxes('a job that Harbor 0.25 started', () => {
  test('is scored again from the artifacts where Harbor put them', async () => {
    const missing = await jobs('rescore', job)
    expect([missing.status, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/expected a docker socket.*\nhint: .*--ek socket=/),
    ])
    const { status, stdout, stderr } = await jobs('rescore', job, '-e', 'local', '--json')
    expect(status, stderr).toBe(0)
    expect(JSON.parse(stdout).trials).toEqual({
      first__AbC23de: { kind: 'rescored', before: { reward: 0 }, after: { reward: 1 } },
    })
    expect(readJson(first, 'result.json').verifier_result.rewards).toEqual({ reward: 1 })
    expect(readJson(job, 'result.json').stats.evals.oracle__adhoc.metrics).toEqual([{ mean: 1 }])
  })

  test('is resumed: the finished trial stays, the other is run', async () => {
    const before = readFileSync(join(first, 'result.json'), 'utf8')
    const { status, stderr } = await jobs('resume', job, '-e', 'local', '-q')
    expect(status, stderr).toBe(0)
    expect(readFileSync(join(first, 'result.json'), 'utf8')).toBe(before)
    const trials = readdirSync(job).filter((name) => name.includes('__'))
    expect(trials.map((name) => name.split('__')[0]).sort()).toEqual(['first', 'second'])
    expect(readJson(job, 'result.json')).toMatchObject({ n_total_trials: 2, stats: { n_completed_trials: 2 } })
  })
})
