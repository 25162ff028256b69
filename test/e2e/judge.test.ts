import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { says, startModelServer } from '../fakes/model-server.ts'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const key = 'sk-judge-0123456789abcdef'
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), JUDGE_KEY: key }

const rubric = { schema: 'judge/1', criteria: [{ name: 'kind', text: 'It is kind.' }] }
const collect = `mkdir -p /logs/verifier/submission
if [ -s /answer ]; then cp /answer /logs/verifier/submission/answer; env > /logs/verifier/submission/env
else echo 0 > /logs/verifier/reward.txt; fi`

withSandboxes('a task that a model judges', () => {
  test('is scored outside of the sandbox, where the key stays', { timeout: 180_000 }, async () => {
    const dir = await makeTask('judged')
    const server = await startModelServer()
    onTestFinished(() => server.close())
    server.plan(says(JSON.stringify({ criteria: [{ name: 'kind', reason: 'mostly', score: 0.5 }] })))
    const judge = ['--judge-model', 'm', '--judge-api-base', `${server.origin}/v1`, '--judge-api-key-env', 'JUDGE_KEY']
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
    // Whoever did nothing handed nothing in: the tests say so, and nobody is asked.
    expect(await run('nop', dir, judge)).toMatchObject({ code: 0, reward: 0 })
    expect(server.requests).toHaveLength(1)
  })

  test('fails without a judge, and is never a reward of 0', { timeout: 180_000 }, async () => {
    const { code, dir } = await run('oracle', await makeTask('unjudged'), [])
    expect(code).toBe(3)
    expect(textOf(filesBelow(dir), 'result.json')).toContain('JudgeMissingError')
  })
})

test('a judge without an address, or one that does not answer, is the user’s mistake', {
  timeout: 60_000,
}, async () => {
  const dir = await makeTask('mistaken')
  expect((await run('oracle', dir, ['--judge-model', 'nobody-knows'])).code).toBe(2)
  const gone = ['--judge-model', 'm', '--judge-api-base', 'http://127.0.0.1:9/v1']
  expect((await run('oracle', dir, gone)).code).toBe(2)
})

function makeTask(name: string): Promise<string> {
  const files = { 'tests/judge.json': JSON.stringify(rubric), 'instruction.md': 'Write something kind to /answer.\n' }
  return writeTask(scratch, name, { test: collect, solve: 'echo a kind word > /answer', files })
}

let jobs = 0

async function run(agent: string, task: string, more: string[]) {
  const dir = join(scratch, `job-${++jobs}`)
  const words = ['run', '-p', task, '-a', agent, '--jobs-dir', dir, '--json', '--quiet', ...more]
  const child = spawn(process.execPath, [bin, ...words], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
  })
  const [code] = await once(child, 'close')
  const mean = /"meanOverScored":\s*([\d.]+)/.exec(stdout)?.[1]
  return { code, dir, stdout, reward: mean === undefined ? null : Number(mean) }
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
