import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
let server: ServedModelService

/** The stand-in over real HTTP, which knows the solutions of the example tasks. */
beforeAll(async () => {
  const engine = scripted.make(scripted.options.parse({ tasks }), { env: {}, stateDir })
  server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
})
afterAll(() => server.close())

withSandboxes('run with a model behind --api-base', () => {
  test('terminus-2 solves tasks, its trajectory and its tokens are kept, and what was spent is in the books', async () => {
    const ran = await run('solved', ['-i', '*csv-to-json', '-m', 'scripted', '--api-base', `${server.origin}/v1`])
    expect(ran.code, ran.stderr).toBe(0)
    const job = join(scratch, 'jobs/solved')
    const trial = readdirSync(job).find((name) => name.startsWith('csv-to-json__')) ?? ''
    const result = JSON.parse(readFileSync(join(job, trial, 'result.json'), 'utf8'))
    expect(result).toMatchObject({
      verifier_result: { rewards: { reward: 1 } },
      agent_info: { name: 'terminus-2', model_info: { name: 'scripted' } },
    })
    expect(result.agent_result.n_input_tokens).toBeGreaterThan(0)
    const { steps } = JSON.parse(readFileSync(join(job, trial, 'agent/trajectory.json'), 'utf8'))
    expect(steps.filter(({ source }: { source: string }) => source === 'agent').length).toBe(
      result.agent_result.metadata.n_episodes,
    )
    expect(readFileSync(join(job, 'spend.jsonl'), 'utf8')).toContain(trial)
  })

  test('a spent budget starts no new trial, and the same command line with more money resumes', async () => {
    const line = [
      '-m',
      'scripted',
      '--api-base',
      `${server.origin}/v1`,
      '-n',
      '1',
      '-i',
      '*csv-to-json',
      '-i',
      '*fix-ledger',
    ]
    const first = await run('budget', [...line, '--budget-requests', '2', '--json'])
    expect(first.stderr).toContain('the budget of 2 requests is used up')
    expect(first.stderr).toContain('stopped: the budget is used up')
    expect(first.code).toBe(3)
    expect(JSON.parse(first.stdout)).toMatchObject({ finished: false, totalTrials: 2 })
    const second = await run('budget', [...line, '--json'])
    expect(JSON.parse(second.stdout)).toMatchObject({ continued: true, finished: true, totalTrials: 2 })
    expect(second.code, second.stderr).toBe(0)
  })

  test.each([
    ['no model', [], /agent terminus-2 needs a model, got none/],
    [
      'a stand-in that knows none of the tasks',
      ['-m', 'scripted/x', '--engine', 'scripted'],
      /no turns for any of the 12 tasks/,
    ],
    [
      'a context too small for the first prompt',
      [
        '-m',
        'scripted/x',
        '--engine',
        'scripted',
        '--engine-kwarg',
        `tasks=${tasks}`,
        '--engine-kwarg',
        'context_tokens=1000',
      ],
      /the first prompt takes \d+ tokens and a reply 512, but its context has only 1000/,
    ],
    ['a model nobody serves', ['-m', 'some-model'], /needs a model, got some-model without the address/],
    ['a model without its key', ['-m', 'openai/some-model'], /OPENAI_API_KEY/],
    ['a server that is down', ['-m', 'x', '--api-base', 'http://127.0.0.1:9/v1'], /no model server answers/],
    [
      'a password in an address',
      ['-m', 'x', '--api-base', 'http://me:sk-hidden@127.0.0.1:1/v1'],
      /expected an address without user name, password or query/,
    ],
    [
      'a key in an address',
      ['-m', 'x', '--api-base', 'http://127.0.0.1:1/v1?key=sk-hidden'],
      /without user name, password or query/,
    ],
  ])('%s is refused in two lines before anything is written', async (name, options, message) => {
    const ran = await run(`refused-${name.replaceAll(' ', '-')}`, options)
    expect(ran.code).toBe(2)
    expect(ran.stderr).toMatch(message)
    expect(ran.stderr.trim().split('\n')).toHaveLength(2)
    expect(ran.stderr).not.toContain('sk-hidden')
    expect(existsSync(join(scratch, 'jobs', `refused-${name.replaceAll(' ', '-')}`))).toBe(false)
  })

  test('a model the server does not have is refused with those it has', async () => {
    const ran = await run('wrong', ['-m', 'other', '--api-base', `${server.origin}/v1`])
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('it serves scripted') })
  })
})

async function run(
  name: string,
  options: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const line = ['run', '-p', tasks, '-a', 'terminus-2', '-o', join(scratch, 'jobs'), '--job-name', name, ...options]
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const child = spawn(process.execPath, ['bin/ot-agent.js', ...line], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, stdout, stderr }
}
