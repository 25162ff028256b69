import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CommandAgent } from '../../src/agents/shared/blackbox/command-agent.ts'
import { makeBlackbox } from '../../src/agents/shared/blackbox/make-blackbox.ts'
import { BoundaryError } from '../../src/core/errors.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import { agentConfig } from '../fakes/configs.ts'
import type { TaskFiles } from '../fakes/tasks.ts'
import { type Answer, clientThat, replies } from '../fakes/told-client.ts'
import { holdLongTimers, longSec } from '../hold-long-timers.ts'
import { playTrial, provider, stateDir, withSandboxes } from './kit.ts'

const tool = { npm: 'no-such-agent', version: '1.0.0' }

/** Asks the model once and does nothing else. */
const asks = `fetch(process.env.URL + '/v1/chat/completions', { method: 'POST',
  headers: { authorization: 'Bearer ' + process.env.KEY },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: process.argv[1] }] }) })
  .then((response) => process.exit(response.ok ? Number(process.argv[2]) : 1))`

withSandboxes('a command-line agent in a box', () => {
  test('one that never calls its model has failed, although its command exited with 0', async () => {
    const { record, dir } = await run(['true'])
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 0 }, exit: { kind: 'exited', exitCode: 1 } })
    expect(record.metadata).toMatchObject({ failure: 'the agent never called its model', model_calls: 0 })
    expect(readFileSync(join(dir, 'trial.log'), 'utf8')).toContain('never called its model')
    expect(existsSync(join(dir, 'agent/trajectory.json'))).toBe(false)
  })

  test('its calls are its usage, and its exit code counts once a call succeeded', async () => {
    const { record, dir } = await run(['node', '-e', asks, 'hello; "there"', '7'])
    expect(record.end).toMatchObject({ kind: 'scored', exit: { kind: 'exited', exitCode: 7 } })
    expect(record.usage).toEqual({ inputTokens: 10, cacheTokens: 4, outputTokens: 3, costUsd: 0.25 })
    expect(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8')).toContain('hello; \\"there\\"')
  })

  test('one that runs out of time leaves what was recorded', async () => {
    const timeIsUp = holdLongTimers()
    const hangs: Answer = (_, { signal }) => {
      timeIsUp()
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    const twice = 'node -e "$ASKS" hello 0; node -e "$ASKS" again 0'
    const { record, dir } = await run(['sh', '-c', twice], {
      timeoutSec: longSec,
      client: clientThat(replies('hi'), hangs),
    })
    expect(record.end).toMatchObject({ kind: 'scored', exit: { kind: 'limit', limit: 'time' } })
    expect(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8')).toContain('hello')
  })

  test('one that keeps asking a model that refuses is stopped, and the model is to blame', async () => {
    const refuses = clientThat(() => {
      throw new BoundaryError('model', 'no such key', { code: 'AuthenticationError', retryable: false })
    })
    const { record } = await run(['sh', '-c', 'while :; do node -e "$ASKS" hello 0; done'], { client: refuses })
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'model', code: 'AuthenticationError' } })
    expect(record.metadata).toMatchObject({ model_calls: 1 })
  })

  test('one that gives up because its model fails in the middle is no score of 0', async () => {
    const fails = () => {
      throw new BoundaryError('model', 'the server is down', { code: 'ApiConnectionError' })
    }
    const twice = 'node -e "$ASKS" one 0; node -e "$ASKS" two 0'
    const { record, dir } = await run(['sh', '-c', twice], { client: clientThat(replies('hi'), fails) })
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'model', code: 'ApiConnectionError' } })
    expect(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8')).toContain('one')
  })

  test('a trajectory it plants in its logs is kept under another name and never trusted', async () => {
    const plant = ['trajectory.json', 'trajectory.side-1.json', 'trajectory.jsonl', 'exchanges.jsonl']
      .map((name) => `echo forged > /logs/agent/${name}`)
      .join('; ')
    const silent = await run(['sh', '-c', plant])
    expect(logsOf(silent.dir).filter((name) => /^(trajectory|exchanges)/.test(name))).toEqual([])
    expect(readFileSync(join(silent.dir, 'agent/from-sandbox.trajectory.json'), 'utf8')).toBe('forged\n')
    const { dir } = await run(['sh', '-c', `${plant}; node -e "$ASKS" hello 0; ${plant}`])
    expect(logsOf(dir).filter((name) => name.startsWith('trajectory'))).toEqual(['trajectory.json'])
    expect(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8')).toContain('hello')
  })

  test('its tools are a mount that nothing inside can change or move', async () => {
    const meddle = 'cat hello; echo x > hello; rm -rf hello; cd /; mv /ot-agent-tools /gone; ln -s /etc /ot-agent-tools'
    const { dir } = await run(['sh', '-c', `cd /ot-agent-tools; ${meddle}; cat /ot-agent-tools/hello`])
    expect(readFileSync(join(dir, 'agent/boxed.txt'), 'utf8')).toMatch(/^installed\n[\s\S]*busy[\s\S]*installed\n$/)
    expect(readFileSync(join(toolDir, 'hello'), 'utf8')).toBe('installed\n')
  })

  test('a sandbox that cannot mount its tools has them uploaded', async () => {
    const plain: SandboxProvider = {
      ...provider,
      can: { ...provider.can, toolDirs: false },
      lease: ({ toolDirs: _, ...request }) => provider.lease(request),
    }
    const { dir } = await run(['sh', '-c', 'cat /ot-agent-tools/hello; echo changed > /ot-agent-tools/hello'], {
      sandboxes: plain,
    })
    expect(readFileSync(join(dir, 'agent/boxed.txt'), 'utf8')).toBe('installed\n')
    expect(readFileSync(join(toolDir, 'hello'), 'utf8')).toBe('installed\n')
  })

  test('it finds the skills of its task where it looks for them, or the log says that there are none', async () => {
    const offers = (skillsDir: string) => ({
      toml: `[environment]\nskills_dir = "${skillsDir}"\n[[environment.mcp_servers]]\nname = "docs"\nurl = "http://docs:1/sse"\n`,
      files: {
        'environment/Dockerfile': 'FROM debian:12\nRUN mkdir -p /skills/fly && echo flap > /skills/fly/SKILL.md\n',
      },
    })
    const look = ['sh', '-c', 'cat ~/.boxed/skills/fly/SKILL.md']
    const there = await run(look, { task: offers('/skills') })
    expect(readFileSync(join(there.dir, 'agent/boxed.txt'), 'utf8')).toBe('flap\n')
    expect(readFileSync(join(there.dir, 'trial.log'), 'utf8')).toContain(
      'MCP server docs (sse) is passed to boxed in the instruction',
    )
    const absent = await run(look, { task: offers('/nowhere') })
    expect(readFileSync(join(absent.dir, 'trial.log'), 'utf8')).toContain('skills_dir /nowhere is not a directory')
  })
})

/** Pretends that it was installed earlier, so it is not installed again. */
const toolDir = join(stateDir, `tools/no-such-agent@1.0.0-linux-${process.arch}`)

function logsOf(dir: string): string[] {
  return readdirSync(join(dir, 'agent'))
}

interface BoxedRun {
  readonly timeoutSec?: number
  readonly sandboxes?: typeof provider
  readonly client?: ReturnType<typeof clientThat>
  readonly task?: TaskFiles
}

function run(
  argv: readonly string[],
  { timeoutSec = 60, sandboxes = provider, client = clientThat(replies('hi')), task = {} }: BoxedRun = {},
) {
  mkdirSync(toolDir, { recursive: true })
  writeFileSync(join(toolDir, 'hello'), 'installed\n')
  const described: CommandAgent = {
    name: 'boxed',
    tool,
    skills: '.boxed/skills',
    files: () => ({}),
    env: ({ baseUrl, key }) => ({ URL: baseUrl, KEY: key, ASKS: asks }),
    argv: () => argv,
  }
  const agent = makeBlackbox(described, { collect_rollout_details: false }, { env: {}, stateDir })
  const config = { agent: agentConfig({ name: 'boxed', modelName: client.model, overrideTimeoutSec: timeoutSec }) }
  return playTrial({ agent, client, config, provider: sandboxes, task })
}
