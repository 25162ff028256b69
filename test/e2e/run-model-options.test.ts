import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
const jobs = join(scratch, 'jobs')
const key = 'the-key-of-the-server-7531'
let server: ServedModelService
/** As slow as a real model, so that calls are always in progress. */
let slow: ServedModelService
const heard: string[] = []

/** The stand-in over real HTTP; it requires a key. */
beforeAll(async () => {
  const serve = (options: object, log: (line: string) => void) => {
    const engine = scripted.make(scripted.options.parse({ tasks, ...options }), { env: {}, stateDir })
    return serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: key, log })
  }
  server = await serve({}, (line) => heard.push(line))
  slow = await serve({ latency_ms: 300 }, () => {})
})
afterAll(() => Promise.all([server.close(), slow.close()]))

const asked = () => heard.filter((line) => line.includes('/chat/completions')).length
const one = ['-i', '*csv-to-json']
const withKey = { MY_KEY: key }
const here = ({ origin } = server) => ['-m', 'scripted', '--api-base', `${origin}/v1`, '--api-key-env', 'MY_KEY']

withSandboxes('run, told how to use its model', () => {
  test('an engine file says where the model is, what it is called and which key it takes', async () => {
    const file = join(scratch, 'engine.yaml')
    writeFileSync(
      file,
      `engine:
  type: vllm_local
  vllm_local: { base_url: ${server.origin}/v1, model_name: scripted, api_key_env: MY_KEY }
backend: { healthcheck_max_attempts: 2, healthcheck_retry_delay: 0 }
extra_agent_kwargs: { max_turns: 9 }
`,
    )
    const ran = await run('engine-file', [...one, '--engine-config', file, '--json'], withKey)
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ ends: { scored: 1, meanOverAll: 1 } })
    expect(filesHolding('engine-file', key)).toEqual([])
  })

  test('a key that is named is used and written down nowhere', async () => {
    const ran = await run('key', [...one, ...here(), '--json'], withKey)
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ ends: { scored: 1, meanOverAll: 1 } })
    expect(filesHolding('key', key)).toEqual([])
    expect(ran.stdout + ran.stderr).not.toContain(key)
  })

  test.each([
    ['missing', {}, /expected a key in the environment variable MY_KEY/],
    ['wrong', { MY_KEY: 'not-the-key' }, /401/],
  ])('a key that is %s is two lines before anything starts', async (name, env, message) => {
    const before = asked()
    const ran = await run(`key-${name}`, [...one, ...here()], env)
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(message) })
    expect(ran.stderr.trim().split('\n')).toHaveLength(2)
    expect(existsSync(join(jobs, `key-${name}`))).toBe(false)
    expect(asked()).toBe(before)
  })

  test.each([
    ['--rpm', 1],
    ['--tpm', 0],
  ])('%s 1 lets four trials at once send %i requests and no more', async (option, count) => {
    const before = asked()
    const going = start(`pace${option}`, ['-n', '4', ...here(), option, '1'], withKey)
    while (countOf(`pace${option}`, /agent/) < 4 || asked() - before < count) await wait(50)
    await wait(1500)
    expect(asked() - before).toBe(count)
    going.child.kill('SIGINT')
    expect((await going.ended).code).toBe(130)
  })

  test.each(['orchestrator', 'top'])('adaptive_concurrency of a job file is honoured (%s)', async (place) => {
    const adaptive = { enabled: true, algorithm: 'gradient2', min_limit: 1, max_limit: 6, poll_interval_sec: 0.1 }
    const file = join(scratch, `${place}.json`)
    const limits = { n_concurrent_trials: 1, quiet: true }
    const job = {
      ...(place === 'top'
        ? { ...limits, adaptive_concurrency: adaptive }
        : { orchestrator: { type: 'local', ...limits, adaptive_concurrency: adaptive } }),
      datasets: [{ path: tasks, n_tasks: 3 }],
    }
    writeFileSync(file, JSON.stringify(job))
    const ran = await ended(
      start(`adaptive-${place}`, ['-c', file, '-e', 'local', ...here(slow), '--json'], withKey, []),
    )
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ ends: { scored: 3, meanOverAll: 1 } })
    expect(ran.stderr).toMatch(/now running [2-6] trials/)
    expect(ran.stderr).not.toMatch(/adaptive_concurrency/)
  })

  test('an estimate asks no model, writes nothing, and is based on an earlier job if there is one', async () => {
    const before = asked()
    const prices = '{"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}'
    const line = [...here(), '-k', '3', '--ak', `model_info=${prices}`, '--json', '--estimate']
    const usual = await run('estimate', line, withKey)
    expect(usual.code, usual.stderr).toBe(0)
    expect(JSON.parse(usual.stdout)).toMatchObject({ schema: 'estimate/1', estimates: [{ trials: 36 }] })
    const oracle = await run('estimate', ['-a', 'oracle', '--json', '--estimate'], withKey)
    expect(JSON.parse(oracle.stdout).estimates).toMatchObject([{ inputTokens: 0, outputTokens: 0, costUsd: 0 }])
    const known = await run('estimate', [...line, join(jobs, 'key')], withKey)
    expect(known.code, known.stderr).toBe(0)
    expect(known.stdout).not.toBe(usual.stdout)
    expect(asked()).toBe(before)
    expect(existsSync(join(jobs, 'estimate'))).toBe(false)
  })

  test('a spent budget stops the job, and the same command line with more money resumes it', async () => {
    const prices = 'model_info={"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}'
    const line = ['-i', '*csv-to-json', '-i', '*fix-ledger', '-n', '1', ...here(), '--ak', prices, '--json']
    const first = await run('money', [...line, '--budget-usd', '1'], withKey)
    expect(first.stderr).toContain('the budget of 1 USD is used up')
    expect(JSON.parse(first.stdout)).toMatchObject({ finished: false, totalTrials: 2 })
    const second = await run('money', [...line, '--budget-usd', '1000'], withKey)
    expect(JSON.parse(second.stdout)).toMatchObject({ continued: true, finished: true, ends: { meanOverAll: 1 } })
  })

  test('a budget of money without prices is refused in two lines', async () => {
    const ran = await run('no-prices', [...one, ...here(), '--budget-usd', '1'], withKey)
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining("needs the model's prices") })
    expect(ran.stderr.trim().split('\n')).toHaveLength(2)
    expect(existsSync(join(jobs, 'no-prices'))).toBe(false)
  })
})

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function start(name: string, options: readonly string[], more: Record<string, string>, what = ['-p', tasks]) {
  mkdirSync(jobs, { recursive: true })
  const line = ['run', ...what, '-o', jobs, '--job-name', name, ...options]
  const { MY_KEY: _, ...env } = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') } as Record<string, string>
  const child: ChildProcess = spawn(process.execPath, ['bin/ot-agent.js', ...line], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return { child, ended: once(child, 'close').then(([code]): Ended => ({ code, stdout, stderr })) }
}

const ended = (going: ReturnType<typeof start>) => going.ended
const run = (name: string, options: readonly string[], env: Record<string, string>) => ended(start(name, options, env))

/** How many of a job's trials have a matching file. */
function countOf(name: string, thing: RegExp): number {
  const dir = join(jobs, name)
  if (!existsSync(dir)) return 0
  const trials = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return trials.filter((entry) => readdirSync(join(dir, entry.name)).some((file) => thing.test(file))).length
}

function filesHolding(name: string, secret: string): string[] {
  const dir = join(jobs, name)
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => readFileSync(path).includes(secret))
}
