import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import scripted from '../../src/engines/scripted/index.ts'
import { type ServedModelService, serveModel } from '../../src/server/serve-model.ts'
import { makeTempDir, writeTree } from '../make-task.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const tasks = resolve('examples/tasks')
let server: ServedModelService

/** A stand-in for a model over real HTTP that knows the solutions of the example tasks. */
beforeAll(async () => {
  const engine = scripted.make(scripted.options.parse({ tasks }), { env: {}, stateDir })
  server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
})
afterAll(() => server.close())

/** Outside this checkout and any package, as a user's folder may be. */
let folder: string
beforeEach(async () => {
  folder = await makeTempDir()
})

withSandboxes('an agent of one’s own', () => {
  test('as agents init writes it, it passes agents test and solves tasks; edited, it is another job', async () => {
    expect(await otAgent('agents', 'init', 'my-agent')).toMatchObject({ code: 0, stdout: 'my-agent.ts\n' })
    const model = ['-m', 'scripted', '--api-base', `${server.origin}/v1`]
    const tried = await otAgent('agents', 'test', './my-agent.ts', ...model, '--task', join(tasks, 'csv-to-json'))
    expect(tried, tried.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^✓ task \S+: finished, reward 1$/m),
    })

    const line = ['run', '-p', tasks, '-i', 'csv-to-json', '-i', 'fix-ledger', '--agent-import-path', './my-agent.ts']
    const job = ['-o', 'jobs', '--job-name', 'mine', '--json', '--ak', 'max_iterations=8']
    const ran = await otAgent(...line, ...model, ...job)
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ finished: true, ends: { scored: 2, meanOverAll: 1 } })
    const trial = readdirSync(join(folder, 'jobs/mine')).find((name) => name.startsWith('csv-to-json__')) ?? ''
    const record = JSON.parse(readFileSync(join(folder, 'jobs/mine', trial, 'record.json'), 'utf8'))
    expect(record).toMatchObject({
      agent: { name: 'my-agent', version: '1.0.0', model: 'scripted' },
      end: { kind: 'scored', exit: { kind: 'finished' } },
      config: { agent: { name: null, importPath: join(folder, 'my-agent.ts') } },
    })
    expect(record.usage.inputTokens).toBeGreaterThan(0)
    const { steps, agent } = JSON.parse(readFileSync(join(folder, 'jobs/mine', trial, 'agent/trajectory.json'), 'utf8'))
    expect(agent).toMatchObject({ name: 'my-agent', version: '1.0.0', model_name: 'scripted' })
    expect(steps.slice(0, 2).map(({ source }: { source: string }) => source)).toEqual(['system', 'user'])
    expect(steps.at(-1)).toMatchObject({ source: 'agent', message: expect.stringContaining('TASK_COMPLETE') })
    const exported = await otAgent('traces', 'export', '-p', 'jobs/mine', '--out', 'traces', '--json')
    expect(exported, exported.stderr).toMatchObject({ code: 0 })
    expect(JSON.parse(exported.stdout)).toMatchObject({ rows: 2 })

    expect(JSON.parse((await otAgent(...line, ...model, ...job)).stdout)).toMatchObject({ continued: true })
    appendFileSync(join(folder, 'my-agent.ts'), '// another prompt\n')
    for (const again of [
      [...line, ...model, ...job],
      ['jobs', 'resume', 'jobs/mine'],
    ]) {
      const refused = await otAgent(...again)
      expect(refused.code).toBe(2)
      expect(refused.stderr).toMatch(/^error: .*\S+my-agent\.ts changed: digest was \S+, is \S+\nhint: .+\n$/)
    }
  })

  test('what it throws is blamed on it, with the line of its source', async () => {
    await writeTree(folder, {
      'boom.ts': `interface Unused { readonly a: number }\n\nexport class Boom {
  readonly name = 'boom'
  readonly version = '1.0.0'
  async solve(): Promise<never> {
    throw new Error('no idea')
  }
}\n`,
    })
    const ran = await otAgent(
      'run',
      '-p',
      join(tasks, 'csv-to-json'),
      '--agent-import-path',
      './boom.ts:Boom',
      '-o',
      'jobs',
    )
    expect(ran.code, ran.stderr).toBe(3)
    const job = readdirSync(join(folder, 'jobs'))[0] ?? ''
    const trial = readdirSync(join(folder, 'jobs', job)).find((name) => name.startsWith('csv-to-json__')) ?? ''
    const { end } = JSON.parse(readFileSync(join(folder, 'jobs', job, trial, 'record.json'), 'utf8'))
    expect(end).toMatchObject({ kind: 'failed', failure: { boundary: 'agent', message: 'no idea' } })
    expect(end.failure.stack).toContain(`${join(folder, 'boom.ts')}:7:`)
  })
})

withSandboxes('an agent that left a timer behind', () => {
  test('does not end the job when its timer throws; the error is reported with the name of its trial', async () => {
    await writeTree(folder, {
      'late.ts': `export class Late {
  readonly name = 'late'
  readonly version = '1.0.0'
  async solve({ task, sandbox }: { task: { name: string }; sandbox: { exec(words: string[]): Promise<unknown> } }) {
    if (task.name.includes('csv-to-json')) {
      setTimeout(() => { throw new Error('late timer') }, 1)
      void Promise.reject(new Error('late promise'))
    }
    await sandbox.exec(['sleep', '0.2'])
    return { kind: 'finished' } as const
  }
}\n`,
    })
    const job = ['-o', 'jobs', '--job-name', 'late', '-n', '1', '--json']
    const only = ['-p', tasks, '-i', '*csv-to-json', '-i', '*fix-ledger', '--agent-import-path', './late.ts']
    const ran = await otAgent('run', ...only, ...job)
    expect(ran.code, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ finished: true, ends: { scored: 2 } })
    for (const what of ['late timer', 'late promise'])
      expect(ran.stderr).toMatch(new RegExp(`^trial csv-to-json__\\w+: error in background code.*${what}$`, 'm'))
    const trial = readdirSync(join(folder, 'jobs/late')).find((name) => name.startsWith('csv-to-json__')) ?? ''
    expect(readFileSync(join(folder, 'jobs/late', trial, 'trial.log'), 'utf8')).toContain('late timer')
  })
})

test('an installed package is an agent too, found from the current directory', async () => {
  await writeTree(join(folder, 'node_modules/some-agents'), {
    'package.json': '{"name":"some-agents","version":"1.0.0","type":"module","exports":"./main.js"}',
    'main.js': `import { UserError } from 'ot-agent'
export class Picky {
  name = 'picky'; version = '2.0.0'
  constructor({ mood }) { if (mood !== 'good') throw new UserError('expected mood=good, got ' + mood, 'give --ak mood=good') }
  async solve() { return { kind: 'finished' } }
}`,
  })
  const good = await otAgent('agents', 'test', 'npm:some-agents:Picky', '--ak', 'mood=good')
  expect(good).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Agent name: +picky\nAgent version: 2\.0\.0$/m),
  })
  // The error class it imports is identical to the one of the program that runs it.
  expect(await otAgent('agents', 'test', 'npm:some-agents')).toMatchObject({
    code: 2,
    stderr: 'error: expected mood=good, got undefined\nhint: give --ak mood=good\n',
  })
})

test('Python, nothing at all, and two agents at once are refused in two lines, and nothing is written', async () => {
  mkdirSync(join(folder, 'empty'))
  const base = ['run', '-p', tasks, '-o', 'jobs']
  for (const options of [
    ['--agent-import-path', 'nvidia_nemotron_agent.py'],
    ['--agent-import-path', 'nvidia_nemotron_agent:NvidiaNemotronAgent'],
    ['--agent-import-path', './empty'],
    ['--agent-import-path', './a.ts', '-a', 'nop'],
    ['-a', 'nop', '--environment-import-path', './box.ts'],
  ]) {
    const refused = await otAgent(...base, ...options)
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: .+\nhint: .+\n$/) })
  }
  expect(readdirSync(folder)).toEqual(['empty'])
})

async function otAgent(...line: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...line], {
    env,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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
