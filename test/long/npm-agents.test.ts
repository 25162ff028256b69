import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import claudeCode from '../../src/agents/claude-code.ts'
import codex from '../../src/agents/codex.ts'
import geminiCli from '../../src/agents/gemini-cli.ts'
import opencode from '../../src/agents/opencode.ts'
import pi from '../../src/agents/pi.ts'
import qwenCoder from '../../src/agents/qwen-coder.ts'
import type { Agent, AgentAt } from '../../src/core/agent.ts'
import { BoundaryError } from '../../src/core/errors.ts'
import type { ModelClient } from '../../src/core/model.ts'
import scripted from '../../src/engines/scripted/index.ts'
import { Tape } from '../../src/run/replay/tape.ts'
import { serveModel } from '../../src/server/serve-model.ts'
import { turnsIn } from '../contracts/replay.ts'
import { playTrial, scratch, stateDir, withSandboxes } from '../e2e/kit.ts'
import { agentConfig } from '../fakes/configs.ts'
import { type TaskFiles, writeTask } from '../fakes/tasks.ts'
import { clientThat } from '../fakes/told-client.ts'
import { parseTrajectory } from '../parse-trajectory.ts'

const providerKey = 'sk-provider-secret-0123456789'
const offline = '[environment]\nallow_internet = false\n'
const toml = `schema_version = "1.2"\n${offline}`
/** Provides a tool over MCP, from a program inside, and a skill. */
const offering = {
  toml: `${toml}skills_dir = "/skills"
[[environment.mcp_servers]]
name = "sky"
transport = "stdio"
command = "node"
args = ["/srv/sky.mjs"]
`,
  files: {
    'environment/Dockerfile': 'FROM debian:12\nCOPY sky.mjs /srv/\nCOPY skills /skills\n',
    'environment/sky.mjs': `import { createInterface } from 'node:readline'
const tools = [{ name: 'moon_phase', description: 'Tells it', inputSchema: { type: 'object', properties: {} } }]
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'sky', version: '1' } }),
  'tools/list': () => ({ tools }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const answer = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: 'unknown' } }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})
`,
    'environment/skills/fly/SKILL.md': '---\nname: fly\ndescription: How to flap well\n---\nFlap.\n',
  },
}
/** Not in the root folder, whose listing reveals how many processes there are. */
const replayed = { toml, files: { 'environment/Dockerfile': 'FROM debian:12\nWORKDIR /work\n' } }
const plugins = { pi, codex, 'claude-code': claudeCode, opencode, 'gemini-cli': geminiCli, 'qwen-coder': qwenCoder }
/** Kept between runs, like a user's own cache. */
const toolsCache = resolve('node_modules/.cache/ot-agent')
const reachable = reachesRegistry()
// As on the machine of the user who runs a job; none of it may get inside.
process.env.OPENAI_API_KEY = providerKey

/** Which of the four APIs each agent uses. */
const dialects: Record<keyof typeof plugins, string> = {
  pi: 'openai-chat',
  codex: 'openai-responses',
  'claude-code': 'anthropic-messages',
  opencode: 'openai-chat',
  'gemini-cli': 'gemini-generate',
  'qwen-coder': 'openai-chat',
}
const skip = {
  skip: !reachable,
  meta: { ...(!reachable && { skipReason: 'the npm registry cannot be reached' }) },
}

withSandboxes('agents from npm', () => {
  for (const name of typedKeys(plugins)) describeEach(name)

  test('codex solves an example through the built program, and its trace can be exported', skip, async () => {
    const tasks = resolve('examples/tasks')
    const engine = scripted.make(scripted.options.parse({ tasks: [tasks] }), { env: {}, stateDir })
    const server = await serveModel(engine.service, { host: '127.0.0.1', port: 0, apiKey: null })
    onTestFinished(() => server.close())
    const jobs = join(scratch, 'jobs')
    const where = ['-p', tasks, '-i', '*csv-to-json', '-e', 'local', '-o', jobs, '--job-name', 'codex']
    const model = ['-a', 'codex', '-m', 'scripted', '--api-base', `${server.origin}/v1`]
    const ran = await otAgent(['run', ...where, ...model, '--ak', 'collect_rollout_details=true', '--json'])
    expect(JSON.parse(ran)).toMatchObject({ finished: true, totalTrials: 1 })
    const trial = readdirSync(join(jobs, 'codex')).find((name) => name.startsWith('csv-to-json__')) ?? ''
    const result = JSON.parse(readFileSync(join(jobs, 'codex', trial, 'result.json'), 'utf8'))
    expect(result).toMatchObject({ verifier_result: { rewards: { reward: 1 } }, agent_info: { name: 'codex' } })
    const { steps } = parseTrajectory(readFileSync(join(jobs, 'codex', trial, 'agent/trajectory.json'), 'utf8'))
    const replies = steps.filter(({ source }) => source === 'agent')
    expect(replies.every(({ metrics }) => (metrics?.completion_token_ids?.length ?? 0) > 0)).toBe(true)
    const out = join(scratch, 'traces')
    await otAgent(['traces', 'export', '-p', join(jobs, 'codex'), '--out', out, '--filter', 'success'])
    expect(readdirSync(out, { recursive: true }).join()).toContain('parquet')
  })
})

function describeEach(name: keyof typeof plugins) {
  test(
    `${name} solves a task without network, with the task's tools and skills, is recorded whole, and never holds the provider's key`,
    skip,
    async () => {
      const tasks = join(scratch, `tasks-${name}`)
      await writeTask(tasks, 'answer', offering)
      const engine = scripted.make(scripted.options.parse({ tasks: [tasks] }), { env: {}, stateDir })
      const seen: string[] = []
      const agent = watched(make(name), seen)
      const { record, dir } = await play(name, agent, engine.client('scripted'), offering)
      const log = readIfThere(join(dir, 'agent', `${name}.txt`))
      expect(record.end, log.slice(-3000)).toEqual({
        kind: 'scored',
        rewards: { reward: 1 },
        exit: { kind: 'finished' },
      })
      const trajectory = parseTrajectory(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8'))
      const ofAgent = trajectory.steps.filter(({ source }) => source === 'agent')
      expect(ofAgent.length).toBeGreaterThanOrEqual(2)
      expect(ofAgent[0]?.tool_calls).toHaveLength(1)
      expect(ofAgent[0]?.observation?.results).toHaveLength(1)
      expect(ofAgent.at(-1)?.tool_calls).toBeUndefined()
      expect(JSON.stringify(trajectory.steps.filter(({ source }) => source === 'user'))).toContain(
        'Write 42 to /answer.',
      )
      const tools = JSON.stringify(trajectory.agent.tool_definitions)
      const told = JSON.stringify(trajectory)
      // One does not support MCP and reads where the server is; another lists tool names first and describes them on
      // request.
      expect(name === 'pi' || name === 'qwen-coder' ? told : tools).toContain(name === 'pi' ? 'sky.mjs' : 'moon_phase')
      expect(told).toContain('How to flap well')
      expect(record.metadata).toMatchObject({ model_calls: ofAgent.length, model_calls_succeeded: ofAgent.length })
      expect(record.usage?.inputTokens).toBeGreaterThan(0)
      expect(readdirSync(join(dir, 'agent')).filter((file) => file.startsWith('trajectory'))).toEqual([
        'trajectory.json',
      ])
      const [, ...calls] = readFileSync(join(dir, 'agent/exchanges.jsonl'), 'utf8').trim().split('\n')
      expect(new Set(calls.map((line) => JSON.parse(line).dialect))).toEqual(new Set([dialects[name]]))
      expect(seen.join('')).toContain('sk-trial-')
      expect(seen.join('')).not.toContain(providerKey)
    },
  )

  // qwen-coder considers a command finished when it exits and loses pending terminal output; on a busy machine that is
  // the last line.
  // gemini-cli lists its skills in the order their files were read, which occasionally changes.
  const isSteady = !['qwen-coder', 'gemini-cli'].includes(name)
  const again = { ...skip, ...(!isSteady && { retry: 2 }) }

  test(`${name} says and sees the same when its recorded replies are played back to it`, again, async () => {
    const tasks = join(scratch, `tasks-replay-${name}-${randomUUID()}`)
    await writeTask(tasks, 'answer', replayed)
    const engine = scripted.make(scripted.options.parse({ tasks: [tasks] }), { env: {}, stateDir })
    const at = new Date()
    const { dir } = await play(name, make(name), engine.client('scripted'), replayed)
    const turns = turnsIn(dir)
    expect(turns.length).toBeGreaterThanOrEqual(2)
    const tape = new Tape({ turns, at, isCut: false }, new Date())
    const { record } = await play(name, make(name), tape.client('scripted', engine.client('scripted').facts), replayed)
    const verdicts = [...tape.verdicts(JSON.stringify(record.end)).values()]
    expect(verdicts).toEqual(verdicts.map(() => ({ kind: 'holds' })))
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
  })

  test(`${name} whose every call fails ends as a failure of the model, whatever its exit code`, skip, async () => {
    const client = clientThat(() => {
      throw new BoundaryError('model', `bad key ${providerKey}`, { code: 'AuthenticationError', retryable: false })
    })
    const { record, dir } = await play(name, make(name), client)
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'model', code: 'AuthenticationError' } })
    expect(readIfThere(join(dir, 'agent', `${name}.txt`))).not.toContain(providerKey)
    expect(readIfThere(join(dir, 'agent/exchanges.jsonl'))).toContain('AuthenticationError')
  })
}

/** Runs the built program with the installed tools; returns its output. */
async function otAgent(argv: readonly string[]): Promise<string> {
  const env = { ...process.env, XDG_CACHE_HOME: dirname(toolsCache) }
  const { stdout } = await promisify(execFile)(process.execPath, ['bin/ot-agent.js', ...argv], { env })
  return stdout
}

function typedKeys<T extends object>(of: T): (keyof T)[] {
  return Object.keys(of) as (keyof T)[]
}

function make(name: keyof typeof plugins): Agent {
  const plugin = plugins[name]
  return plugin.make(plugin.options.parse({}), { env: { OPENAI_API_KEY: providerKey }, stateDir: toolsCache })
}

function play(name: string, agent: Agent, client: ModelClient, task: TaskFiles = { toml }) {
  const config = { agent: agentConfig({ name, modelName: client.model, overrideTimeoutSec: 120 }) }
  return playTrial({ agent, client, config, task })
}

/** Once the agent is done, looks at every file it was given and at the environment of its commands. */
function watched(agent: Agent, seen: string[]): Agent {
  return {
    ...agent,
    async solve(at: AgentAt) {
      const spy: AgentAt['sandbox'] = {
        ...at.sandbox,
        exec: (argv, options) => {
          seen.push(JSON.stringify([argv, options?.env]))
          return at.sandbox.exec(argv, options)
        },
        write: (path, data, options) => {
          seen.push(String(data))
          return at.sandbox.write(path, data, options)
        },
      }
      const exit = await agent.solve({ ...at, sandbox: spy })
      const look = 'env; find /opt/ot-agent-homes /logs -type f -size -2M -exec cat {} + 2>/dev/null'
      seen.push((await at.sandbox.exec(['sh', '-c', look], { outputLimitBytes: 64 * 1024 * 1024 })).stdout)
      return exit
    },
  }
}

function reachesRegistry(): boolean {
  try {
    execFileSync('npm', ['view', '@openai/codex@0.166.0', 'version'], { timeout: 30_000, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
