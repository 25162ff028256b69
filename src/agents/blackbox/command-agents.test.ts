import { describe, expect, test } from 'vitest'
import { clientThat, replies } from '../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import type { Agent, AgentAt } from '../../core/agent.ts'
import claudeCode from '../claude-code.ts'
import codex from '../codex.ts'
import geminiCli from '../gemini-cli.ts'
import miniSweAgent from '../mini-swe-agent.ts'
import opencode from '../opencode.ts'
import openhands from '../openhands.ts'
import pi from '../pi.ts'
import qwenCoder from '../qwen-coder.ts'

const plugins = [claudeCode, codex, geminiCli, miniSweAgent, opencode, openhands, pi, qwenCoder]
const instruction = `--help'; echo "$HOME" \\\n`

describe.each(plugins.map((plugin) => ({ name: plugin.name, plugin })))('$name', ({ name, plugin }) => {
  const make = (options: object = {}) => plugin.make(plugin.options.parse(options), { env: {}, stateDir: '/nowhere' })

  test('is told where its model is, what to do and with which key, which no list of processes shows', async () => {
    const { line, env, files } = await staged(make())
    const told = JSON.stringify([env, files])
    expect(told).toContain('http://127.0.0.1:4711')
    expect(told).toMatch(/sk-trial-[0-9a-f]{48}/)
    expect(line).not.toContain('sk-trial-')
    // Quoted for the shell, so that it arrives as it is.
    expect(line).toContain(instruction.replaceAll("'", `'\\''`))
    expect(line + told).toMatch(/\bqwen3-coder\b/)
    expect(line + told).not.toMatch(/undefined|\[object/)
    expect(line).toMatch(/ < \/dev\/null > \/logs\/agent\/[\w-]+\.txt 2>&1$/)
    expect(env.HOME).toMatch(/^\/opt\/ot-agent-homes\/[0-9a-f]{8}$/)
    for (const path of Object.keys(files)) expect(path.startsWith(`${env.HOME}/`)).toBe(true)
  })

  test('has an exact version, and another one on demand', () => {
    expect(make()).toMatchObject({ name, version: expect.stringMatching(/^\d+\.\d+\.\d+$/), needsModel: true })
    expect(make({ version: '9.8.7' }).version).toBe('9.8.7')
    expect(plugin.options.safeParse({ version: 'latest; rm' }).success).toBe(false)
  })
})

/** What an agent runs and writes, in a sandbox that only listens. */
async function staged(agent: Agent) {
  const files: Record<string, string> = {}
  const ran: { argv: readonly string[]; env: Readonly<Record<string, string>> }[] = []
  const client = { ...clientThat(replies('hi')), model: 'hosted/qwen3-coder' }
  const sandbox: Partial<AgentAt['sandbox']> = {
    openDoor: async () => ({ url: 'http://127.0.0.1:4711', close: async () => {} }),
    write: async (path, data) => {
      files[path] = String(data)
    },
    exec: async (argv, options) => {
      ran.push({ argv, env: options?.env ?? {} })
      return { exitCode: 0, stdout: '', stderr: '', timedOut: false, truncated: false }
    },
  }
  const record = { usage: () => {}, metadata: () => {}, log: () => {} }
  const at = { sandbox, client, instruction, env: {}, record, signal: new AbortController().signal }
  await agent.solve({ ...at, logsDir: await makeTempDir() } as unknown as AgentAt)
  const last = ran.at(-1)
  return { line: last?.argv[2] ?? '', env: last?.env ?? {}, files }
}
