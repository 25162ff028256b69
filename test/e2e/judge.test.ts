import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { stageServices } from '../../src/app/recipe/services.ts'
import { judgeSums } from '../../src/store/ledger.ts'
import { type Behaviour, says } from '../fakes/model-server.ts'
import { offlineWords } from '../fakes/offline-words.ts'
import { collect, key, ot, startJudge, verdict, writeJudged } from './judge-kit.ts'
import { scratch, withSandboxes } from './kit.ts'

withSandboxes('a task that a model judges', () => {
  test('is scored outside of the sandbox, where the key stays', async () => {
    const test = `${collect}\nif [ -s /answer ]; then env > /logs/verifier/submission/env; fi`
    const dir = await writeJudged(scratch, 'judged', { test })
    const server = await startJudge(['m'], verdict(0.5))
    const judge = [...server.judge, '--judge-api-key-env', 'JUDGE_KEY']
    const solved = await run('oracle', dir, judge)
    expect(solved).toMatchObject({ code: 0, reward: 0.5 })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`)
    expect(server.requests[0]?.body.messages[0].content).toContain('a kind word')
    const files = filesBelow(solved.dir)
    expect(JSON.parse(textOf(files, 'judgement.json'))).toMatchObject({
      reward: 0.5,
      criteria: [{ reason: 'mostly' }],
      model: 'm',
    })
    expect(textOf(files, join('submission', 'env'))).toContain('PATH=')
    for (const file of files) expect(readFileSync(file, 'utf8'), file).not.toContain(key)
    // An agent that did nothing submits nothing: the tests say so, and no judge is asked.
    expect(await run('nop', dir, judge)).toMatchObject({ code: 0, reward: 0 })
    expect(server.requests).toHaveLength(1)
  })

  test('is proven by tasks check and by recipes, each with the judge it is given', async () => {
    const dir = await writeJudged(scratch, 'proven')
    const server = await startJudge(['m'], verdict(1))
    const checked = await ot('tasks', 'check', dir, '--repeats', '2', '--json', ...server.judge)
    expect(checked.stderr).toContain('judge: 1 requests, 14 tokens')
    expect(JSON.parse(checked.stdout).tasks).toMatchObject([{ verdict: 'accepted' }])
    const { signal } = new AbortController()
    const how = { booksDir: join(scratch, 'books'), sandbox: { name: 'local' }, concurrency: 1, signal }
    const services = stageServices(signal, { notify: () => {} })
    const judge = { model: 'm', apiBase: server.apiBase }
    expect(await all(services.check([dir], { ...how, judge }))).toEqual([{ dir, reason: null }])
    await expect(all(services.check([dir], how))).rejects.toMatchObject({
      ...{ name: 'UserError', hint: expect.stringContaining('`judge`') },
    })
  })

  test('is judged by the model that is named while it is made, too', async () => {
    const server = await startJudge(['m'], praise)
    const out = join(scratch, 'made')
    const author = offlineWords('llm-verifier')
    const words = ['data/llm-verifier/generate.ts', '--output-dir', out, '--limit', '1', '-q', '--json', ...author]
    const made = JSON.parse((await ot('generate', ...words, ...server.judge)).stdout)
    expect(made).toMatchObject({ status: 'success', tasks: { metadata: { tasks: 1 } } })
    expect(server.requests.length).toBeGreaterThan(0)
    expect(await judgeSums(join(out, '.work'))).toMatchObject({ requests: server.requests.length })
  })

  test('costs what its judge charges, which counts against the budget and has a separate line', async () => {
    const toml = 'artifacts = ["/answer"]\n[verifier]\nenvironment_mode = "separate"\n'
    const task = await writeJudged(scratch, 'paid', { toml })
    const server = await startJudge(['m'], says('no verdict'), verdict(0.5))
    const job = join(scratch, 'paid-jobs', 'paid')
    const asked = ['-p', task, '-o', dirname(job), '--job-name', 'paid', '-q', '--json', ...server.judge]
    const cut = JSON.parse((await ot('run', ...asked, '--budget-requests', '1')).stdout)
    expect(cut).toMatchObject({ ends: { scored: 0, failed: 0, cancelled: 1 }, judge: { requests: 1 } })
    const done = JSON.parse((await ot('jobs', 'resume', job, '-q', '--json', ...server.judge)).stdout)
    expect(done).toMatchObject({ ends: { scored: 1, meanOverScored: 0.5 }, judge: { requests: 2, tokens: 28 } })
    await writeJudged(scratch, 'paid', { toml }, 'It is very kind.')
    server.plan(verdict(1))
    const { trials } = JSON.parse((await ot('jobs', 'rescore', job, '--json', ...server.judge)).stdout)
    expect(Object.values(trials)).toEqual([{ kind: 'rescored', before: { reward: 0.5 }, after: { reward: 1 } }])
    expect(server.requests).toHaveLength(3)
    expect((await ot('jobs', 'show', job)).stdout).toContain('judge: 3 requests, 33 in, 9 out, cost unknown')
  })

  test('is paid for in money, and tried again where the judge came to no verdict', async () => {
    const task = await writeJudged(scratch, 'priced')
    const server = await startJudge(['m'], says('no verdict'))
    const prices = { input_cost_per_token: 0.01, output_cost_per_token: 0.01 }
    const judge = [...server.judge, '--judge-engine-kwarg', `model_info=${JSON.stringify(prices)}`]
    const job = join(scratch, 'priced-jobs', 'priced')
    const asked = ['-p', task, '-o', dirname(job), '--job-name', 'priced', '-q', '--json']
    const unpriced = await ot('run', ...asked, ...server.judge, '--budget-usd', '1')
    expect(unpriced).toMatchObject({ code: 2, stderr: expect.stringContaining("needs the model's prices") })
    // One reply costs 14 cents: the third is not requested.
    const cut = JSON.parse((await ot('run', ...asked, ...judge, '--budget-usd', '0.2')).stdout)
    expect(cut).toMatchObject({ ends: { scored: 0, failed: 0, cancelled: 1 }, judge: { requests: 2, costUsd: 0.28 } })
    const failed = JSON.parse((await ot('run', ...asked, ...judge, '--budget-usd', '1')).stdout)
    expect(failed).toMatchObject({ ends: { scored: 0, failed: 1 }, judge: { requests: 3 } })
    const again = ['jobs', 'retry', job, '--only', 'JudgeFailedError', '-q', '--json']
    expect(await ot(...again)).toMatchObject({ code: 2, stderr: expect.stringContaining('--judge-model') })
    server.plan(verdict(0.5))
    const done = JSON.parse((await ot(...again, ...server.judge)).stdout)
    expect(done).toMatchObject({ ends: { scored: 1, failed: 0, meanOverScored: 0.5 }, judge: { requests: 4 } })
    expect(server.requests).toHaveLength(4)
  })
})

test('every command that runs tests names the option when there is no judge', async () => {
  const dir = await writeJudged(scratch, 'unjudged')
  const twoLines = /^error: task .*unjudged is judged by a model, but no model was set\nhint: pass --judge-model.*\n$/
  for (const words of [
    ['run', '-p', dir, '--jobs-dir', join(scratch, 'none')],
    ['tasks', 'check', dir],
  ])
    expect(await ot(...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(twoLines) })
  const stray = await ot('tasks', 'check', dir, '--judge-api-base', 'http://127.0.0.1:9/v1')
  expect(stray).toMatchObject({ code: 2, stderr: expect.stringContaining('--judge-model') })
})

test('a judge without an address, or one that does not answer, is the user’s mistake', async () => {
  const dir = await writeJudged(scratch, 'mistaken')
  expect((await run('oracle', dir, ['--judge-model', 'nobody-knows'])).code).toBe(2)
  const gone = ['--judge-model', 'm', '--judge-api-base', 'http://127.0.0.1:9/v1']
  expect((await run('oracle', dir, gone)).code).toBe(2)
})

/** Gives full marks for every criterion. */
const praise: Behaviour = (response, request) => {
  const asked = /The criteria:\n([\s\S]*?)\n\n/.exec(request.body.messages[0].content)?.[1] ?? ''
  const criteria = [...asked.matchAll(/^- ([^:]+): /gm)].map(([, name]) => ({ name, reason: 'it is', score: 1 }))
  says(JSON.stringify({ criteria }))(response, request)
}

let jobs = 0

async function run(agent: string, task: string, more: string[]) {
  const dir = join(scratch, `job-${++jobs}`)
  const words = ['run', '-p', task, '-a', agent, '--jobs-dir', dir, '--json', '--quiet', ...more]
  const { code, stdout } = await ot(...words)
  const mean = /"meanOverScored":\s*([\d.]+)/.exec(stdout)?.[1]
  return { code, dir, stdout, reward: mean === undefined ? null : Number(mean) }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function textOf(files: string[], ending: string): string {
  const found = files.filter((file) => file.endsWith(`/${ending}`))
  return found.map((file) => readFileSync(file, 'utf8')).at(-1) ?? ''
}
