import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { HubStandIn } from '../fakes/hub/server.ts'
import { writeTree } from '../make-task.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const place = join(scratch, 'eval')
const servers = new Map<string, ServedModelService>()
const names = Array.from({ length: 30 }, (_, i) => `w${String(i).padStart(2, '0')}`)

/**
 * Writes a word; the first task always gives at least 0.9, so a model that fails it is one point worse over ten tasks.
 */
function taskOf(name: string) {
  const otherwise = name === 'w00' ? '0.9' : '0'
  return {
    'task.toml': 'version = "1.0"\n[environment]\nallow_internet = false\n',
    'instruction.md': `Write the word ${name} to the file /app/out.txt.\n`,
    'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
    'tests/test.sh': `#!/bin/sh\ngrep -qx ${name} /app/out.txt && r=1 || r=${otherwise}\necho $r > /logs/verifier/reward.txt\n`,
    'solution/solve.sh': `#!/bin/sh\necho ${name} > /app/out.txt\n`,
  }
}

/** A stand-in that solves these tasks and gives up on all others. */
async function serveSkill(model: string, solved: readonly string[], faults: readonly object[] = []): Promise<void> {
  const dir = join(place, 'skills', model)
  for (const name of solved) await writeTree(join(dir, name), taskOf(name))
  const engine = scripted.make(scripted.options.parse({ tasks: dir, faults }), { env: {}, stateDir })
  servers.set(model, await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null }))
}

beforeAll(async () => {
  for (const name of names) await writeTree(join(place, 'tasks', name), taskOf(name))
  mkdirSync(join(place, 'benchmarks'))
  writeFileSync(
    join(place, 'benchmarks', 'words.yaml'),
    'schema: benchmark/1\nname: words\ntitle: Words\nsummary: Writes words.\ntasks: 30\nsources: [{ path: tasks }]\n' +
      'run: { attempts: 1 }\nlicence: none\nhomepage: https://example.org\ncitation: made by a test\n',
  )
  await serveSkill('good', names)
  await serveSkill('weak', [...names.slice(0, 24)])
  await serveSkill('near', names.slice(1))
  await serveSkill('flaky', names, [{ kind: 'server-error', match: 'w01', turns: [1] }])
})
afterAll(async () => {
  for (const server of servers.values()) await server.close()
})

async function ot(...args: string[]) {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...args], { cwd: place, env, stdio })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

const evaluate = (model: string, ...more: string[]) =>
  ot(
    ...['eval', 'run', '--benchmark', 'words', '-m', 'scripted', '--api-base', `${servers.get(model)?.origin}/v1`],
    ...['--job-name', model, '-n', '4', ...more],
  )

withSandboxes('eval run', () => {
  test('uploads the traces of the job in the same command, and the registry links to them', async () => {
    const hub = await HubStandIn.start()
    for (const [name, value] of Object.entries(hub.env)) vi.stubEnv(name, value)
    try {
      const registry = ['--registry', join(place, 'uploads.db')]
      const words = ['--no-smoke', '-l', '2', '--job-name', 'uploaded', ...registry]
      const { status, stderr } = await evaluate('good', ...words, '--upload-traces', 'me/eval-traces')
      expect(status, stderr).toBe(0)
      expect(stderr).toContain('uploaded 2 traces')
      const files = [...(hub.repo('me/eval-traces').commit('main')?.files.keys() ?? [])]
      expect(files).toContain('data/train-00000-of-00001.parquet')
      const found = await ot('registry', 'search', '--json', ...registry)
      expect(JSON.parse(found.stdout).runs).toMatchObject([
        { job_name: 'uploaded', hf_traces_link: 'https://huggingface.co/datasets/me/eval-traces' },
      ])
      const blocked = join(place, 'blocked')
      writeFileSync(blocked, 'no folder')
      const again = [...words, '--upload-traces', `file:${blocked}/set`]
      const failed = await evaluate('good', ...again)
      expect(failed.status, failed.stderr).toBe(3)
      expect(failed.stderr).toContain('hint: run the same command with --job-name uploaded to upload them\n')
      rmSync(blocked)
      const sent = await evaluate('good', ...again)
      expect(sent.status, sent.stderr).toBe(0)
      expect(sent.stderr).toContain('uploaded 2 traces')
      const missing = await evaluate('good', '--no-smoke', '-l', '1', '--upload-traces', 'not a name')
      expect({ status: missing.status, runs: readdirSync(join(place, 'jobs')) }).toEqual({
        status: 2,
        runs: ['uploaded'],
      })
    } finally {
      vi.unstubAllEnvs()
      await hub.close()
      rmSync(join(place, 'jobs'), { recursive: true })
    }
  })

  test('detects a difference of 20 points, and calls one of a point undecided', async () => {
    const good = await evaluate('good')
    expect(good.status, good.stderr).toBe(0)
    expect(good.stderr).toMatch(
      /✓ server: .*\n✓ model: scripted is served\n✓ context: \d+ tokens\nsmoke trial: .* \(--no-smoke skips this\)\n✓ smoke trial: /,
    )
    expect(good.stdout).toContain('100.0 % (88.4 to 100.0)')
    expect(readdirSync(join(place, 'jobs'))).toEqual(['good'])
    expect(existsSync(join(place, 'jobs', 'good', 'eval-report.html'))).toBe(true)
    const weak = await evaluate('weak', '--no-smoke', '--json')
    expect(weak.status, weak.stderr).toBe(0)
    const [run] = JSON.parse(weak.stdout).runs
    expect(run).toMatchObject({ state: 'complete', trials: { trials: 30, scored: 30 }, accuracy: { tasks: 30 } })
    const near = await evaluate('near', '--no-smoke', '-l', '10')
    expect(near.stderr).toContain('running 10 of the 30 tasks of words')
    const registered = await ot('registry', 'search', '--benchmark', 'words', '--json')
    expect(JSON.parse(registered.stdout).runs).toMatchObject([
      { job_name: 'near', accuracy: 0.99, n_trials: 10 },
      { job_name: 'weak', accuracy: expect.closeTo(0.8), n_trials: 30 },
      { job_name: 'good', accuracy: 1, job_status: 'finished', n_trials: 30 },
    ])
    const [clear, close] = [await ot('eval', 'compare', 'good', 'weak'), await ot('eval', 'compare', 'good', 'near')]
    expect(clear.stdout).toMatch(/^good is better than weak by 20\.0 points \(95 % interval \+\d/)
    expect(close.stdout).toMatch(/^Undecided: the difference between good and near, \+1\.0 points, is within noise/)
    expect(close.stdout).toContain('Not compared in good − near: 20 tasks scored only in the first.')
  })

  test('a trial without a score makes a partial result, and the same command runs only that one', async () => {
    const flaky = (...more: string[]) =>
      evaluate('flaky', '--no-smoke', '-i', '*w0[1-3]', '-r', '0', '--engine-kwarg', 'max_attempts=1', ...more)
    const first = await flaky('--rounds', '0', '--json')
    expect(first.status, first.stderr).toBe(3)
    expect(JSON.parse(first.stdout).runs).toMatchObject([
      {
        state: 'partial',
        reasons: ['1 of 3 trials ended in an infrastructure failure, more than 5 %'],
        trials: { scored: 2, failed: 1 },
        failures: [{ boundary: 'model', trials: 1 }],
      },
    ])
    const second = await flaky('--json')
    expect(second.status, second.stderr).toBe(0)
    expect(second.stderr.match(/scored \{/g)).toHaveLength(1)
    expect(JSON.parse(second.stdout).runs).toMatchObject([{ state: 'complete', trials: { trials: 3, scored: 3 } }])
    const { stdout } = await ot('registry', 'search', 'flaky', '--json')
    expect(JSON.parse(stdout).runs[0]).toMatchObject({
      benchmark_name: 'words',
      job_status: 'finished',
      n_trials: 3,
      n_failed: 0,
    })
  })

  test('what is broken is found before the job', async () => {
    const server = servers.get('good')?.origin
    const asked = (...more: string[]) => ot('eval', 'run', '--job-name', 'never', ...more)
    const cases = [
      [
        [
          '-p',
          'tasks',
          '-m',
          'x',
          '--api-base',
          'http://127.0.0.1:9/v1',
          '--engine-kwarg',
          'healthcheck_max_attempts=1',
        ],
        3,
        /model x: /,
      ],
      [['-p', 'tasks', '-m', 'other', '--api-base', `${server}/v1`], 2, /other/],
      [
        ['-p', 'tasks', '-m', 'scripted', '--api-base', `${server}/v1`, '--min-context', '9000000'],
        2,
        /at least 9000000/,
      ],
      [['--benchmark', 'terminal-bench-2', '-m', 'scripted', '--api-base', `${server}/v1`], 3, /not on this machine/],
      [['--benchmark', 'wrds', '-m', 'scripted'], 2, /did you mean words/],
      [['-m', 'scripted'], 2, /expected tasks to evaluate on/],
    ] as const
    const found = await Promise.all(cases.map(([args]) => asked(...args)))
    for (const [i, { status, stderr }] of found.entries()) {
      const [args, code, message] = cases[i]!
      expect([status, stderr], args.join(' ')).toEqual([code, expect.stringMatching(message)])
    }
    expect(existsSync(join(place, 'jobs', 'never'))).toBe(false)
  })

  test('a smoke trial that fails stops the evaluation', async () => {
    await writeTree(join(place, 'broken', 'a'), { ...taskOf('w00'), 'tests/test.sh': '#!/bin/sh\nexit 0\n' })
    const args = ['-p', 'broken', '-m', 'scripted', '--api-base', `${servers.get('good')?.origin}/v1`]
    const { status, stderr } = await ot('eval', 'run', '--job-name', 'never', ...args)
    expect(stderr).toMatch(
      /error: the smoke trial failed at the verifier: RewardFileNotFoundError: .*\nhint: .*--no-smoke/,
    )
    expect(status).toBe(3)
    expect(existsSync(join(place, 'jobs', 'never'))).toBe(false)
  })
})
