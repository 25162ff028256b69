import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { withSandboxes } from '../../../test/e2e/kit.ts'
import { fails, type ModelServer, says, startModelServer } from '../../../test/fakes/model-server.ts'
import { makeTask, makeTempDir } from '../../../test/make-task.ts'
import { catchPrinted } from '../../../test/printed.ts'
import { type MakeCommand, runCommand } from '../../app/flags/command.ts'
import { registry } from '../../plugins/table.ts'
import { makeImportedAgent } from '../../plugins/user-modules/make-imported.ts'
import init from './init.ts'
import list from './list.ts'
import testAgent from './test.ts'

async function run(make: MakeCommand, ...argv: string[]): Promise<string> {
  const printed = catchPrinted()
  await runCommand(make, ['ot-agent', 'agents'], argv)
  return printed()
}

afterEach(() => {
  process.exitCode = 0
})

test('list names every agent that has a name, with what it does', async () => {
  const { agents } = JSON.parse(await run(list, '--json'))
  expect(agents.map(({ name }: { name: string }) => name)).toEqual(Object.keys(registry.agents))
  expect(await run(list)).toMatch(/^oracle +\S.*$/m)
})

test('init writes one commented file of under sixty lines that is an agent of that name', async () => {
  const dir = await makeTempDir()
  expect(await run(init, 'deep-thought', '--path', join(dir, 'agents'))).toBe(
    `${join(dir, 'agents/deep-thought.ts')}\n`,
  )
  const text = await readFile(join(dir, 'agents/deep-thought.ts'), 'utf8')
  expect(text.split('\n').length).toBeLessThan(60)
  expect(text).not.toMatch(/my-agent|MyAgent/)
  expect(text).toContain('export default class DeepThought implements Agent')
  const agent = await makeImportedAgent(join(dir, 'agents/deep-thought.ts'), { max_iterations: 3 })
  expect(agent).toMatchObject({ name: 'deep-thought', version: '1.0.0' })
})

test('init overwrites nothing, and refuses invalid names', async () => {
  const dir = await makeTempDir()
  await run(init, 'mine', '--path', dir)
  await expect(run(init, 'mine', '--path', dir)).rejects.toThrow('mine.ts: expected a new path')
  for (const name of ['../up', 'a b', '.hidden', '1st', 'x.ts', '']) {
    await expect(run(init, '--path', dir, '--', name)).rejects.toThrow('expected an agent name')
  }
  expect(await readdir(dir)).toEqual(['mine.ts'])
})

let server: ModelServer
let agent: string
beforeEach(async () => {
  server = await startModelServer()
  onTestFinished(() => server.close())
  const dir = await makeTempDir()
  agent = join(dir, 'mine.ts')
  const printed = catchPrinted()
  await runCommand(init, ['ot-agent', 'agents', 'init'], ['mine', '--path', dir])
  printed()
})

test('test says who the agent is, what the server serves and what the model answers', async () => {
  server.plan(says('Hello'))
  const printed = await run(testAgent, agent, '--api-base', `${server.origin}/v1`, '-m', 'm')
  expect(printed).toMatch(/^Agent name: +mine$/m)
  expect(printed).toMatch(/^Agent version: +1\.0\.0$/m)
  expect(printed).toMatch(/^Model: +m$/m)
  expect(printed).toContain(`API base:      ${server.origin}/v1\n`)
  expect(printed).toMatch(/^✓ connected to http.*\n {2}models: m\n✓ m answers "Hello" \(11 tokens in, 3 out, /m)
  expect(server.requests).toHaveLength(1)
  expect(process.exitCode).toBe(0)
})

test('test gives machines one document', async () => {
  const args = ['--api-base', `${server.origin}/v1`, '-m', 'm', '--json', '--ak', 'max_iterations=2']
  expect(JSON.parse(await run(testAgent, agent, ...args))).toMatchObject({
    schema: 'agent-test/1',
    agent: 'mine',
    version: '1.0.0',
    model: 'm',
    ok: true,
    checks: [
      { name: 'connection', ok: true, details: { models: ['m'] } },
      { name: 'completion', ok: true, details: { text: 'ok', usage: { inputTokens: 11 } } },
    ],
  })
})

withSandboxes('with a task', () => {
  test('the agent works on it in a sandbox and is scored', async () => {
    const task = await makeTask()
    const keep = join(await makeTempDir(), 'kept')
    const block = (command: string) => says(`I will.\n\`\`\`bash\n${command}\n\`\`\``)
    server.plan(says('hello'), block('ls /nowhere'), says('hm'), block('echo done > done.txt'), says('TASK_COMPLETE'))
    const args = ['--api-base', `${server.origin}/v1`, '-m', 'm', '--task', task, '--keep', keep]
    expect(await run(testAgent, agent, ...args)).toMatch(/^✓ task done: finished, reward 1$/m)
    const talk = server.requests.at(-1)?.body.messages.map(({ content }: { content: string }) => content)
    expect(talk).toEqual([
      expect.stringContaining('TASK_COMPLETE'),
      expect.stringContaining('Write the word done'),
      expect.stringContaining('ls /nowhere'),
      expect.stringMatching(/^exit code 2\n.*No such file/),
      'hm',
      'Expected a block of bash, or TASK_COMPLETE.',
      expect.stringContaining('echo done'),
      'exit code 0\n',
    ])
    expect(await readdir(keep)).toContain('trial.log')
  })

  test('it stops at its limit of turns, and counts what it used', async () => {
    server.plan(says('hm'))
    const args = [
      '--api-base',
      `${server.origin}/v1`,
      '-m',
      'm',
      '--task',
      await makeTask(),
      '--ak',
      'max_iterations=2',
    ]
    const { checks } = JSON.parse(await run(testAgent, agent, ...args, '--json'))
    expect(checks[2]).toMatchObject({
      says: 'task done: stopped by its turns limit, reward 0',
      details: { usage: { inputTokens: 22, outputTokens: 6 } },
    })
  })

  test('an agent that breaks is named: exit code 3', async () => {
    const broken = join(await makeTempDir(), 'broken.ts')
    await writeFile(broken, `export default { name: 'b', version: '1', solve: async () => JSON.parse('{') }`)
    const printed = await run(testAgent, broken, '--task', await makeTask())
    expect(printed).toMatch(/^✗ task done: failed at the agent: .*JSON/m)
    expect(process.exitCode).toBe(3)
  })
})

test('a wrong model or key is the user’s to repair: exit code 2', async () => {
  const printed = await run(testAgent, agent, '--api-base', `${server.origin}/v1`, '-m', 'mm')
  expect(printed).toMatch(/^✗ .*does not serve mm; it serves m$/m)
  expect(process.exitCode).toBe(2)
  server.planList(fails(401, 'no such key'))
  expect(await run(testAgent, agent, '--api-base', `${server.origin}/v1`, '-m', 'm')).toMatch(/^✗ .*no such key/m)
  expect(process.exitCode).toBe(2)
})

test('a server that answers nonsense is the world’s: exit code 3', async () => {
  server.planList((response) => response.end('<html>'))
  const printed = await run(testAgent, agent, '--api-base', `${server.origin}/v1`, '-m', 'm')
  expect(printed).toMatch(/^✗ .*not with a list of models$/m)
  expect(server.requests).toEqual([])
  expect(process.exitCode).toBe(3)
})

test('without a model only the agent is tried, and half of a model is refused', async () => {
  expect(await run(testAgent, 'oracle')).toMatch(/^Agent name: +oracle$[\s\S]*✓ the agent loads\n$/m)
  await expect(run(testAgent, agent, '--api-base', 'http://localhost:1')).rejects.toThrow(
    'expected a model for mine, got none',
  )
  await expect(run(testAgent, agent)).rejects.toThrow('expected a model for mine, got none')
  await expect(run(testAgent, join(agent, '../none.ts'), '-m', 'm')).rejects.toThrow('none.ts: expected a TypeScript')
})
