import { describe, expect, test } from 'vitest'
import { clientThat, replies } from '../../../../test/fakes/told-client.ts'
import { makeTempDir } from '../../../../test/make-task.ts'
import type { Agent, AgentAt } from '../../../core/agent.ts'
import claudeCode from '../../claude-code.ts'
import codex from '../../codex.ts'
import geminiCli from '../../gemini-cli.ts'
import miniSweAgent from '../../mini-swe-agent.ts'
import opencode from '../../opencode.ts'
import openhands from '../../openhands.ts'
import pi from '../../pi.ts'
import qwenCoder from '../../qwen-coder.ts'

const plugins = [claudeCode, codex, geminiCli, miniSweAgent, opencode, openhands, pi, qwenCoder]
/** Which of a task's offers each agent takes through its own configuration; the rest goes into the instruction. */
const offersOf: Record<
  string,
  { readonly files?: string; readonly spelt: readonly string[]; readonly skills?: string }
> = {
  'claude-code': {
    files: 'mcp.json',
    spelt: [
      '"sky":{"type":"stdio","command":"node","args":["/sky.mjs"]}',
      '"docs":{"type":"http","url":"http://docs:1/mcp"}',
      '"old-one":{"type":"sse","url":"http://old:1/sse"}',
    ],
    skills: '.claude/skills',
  },
  codex: {
    files: '.codex/config.toml',
    spelt: [
      '[mcp_servers.sky]\ncommand = "node"\nargs = [ "/sky.mjs" ]\n',
      '[mcp_servers.docs]\nurl = "http://docs:1/mcp"\n',
    ],
    skills: '.agents/skills',
  },
  'gemini-cli': { files: '.gemini/settings.json', spelt: googlesWay(), skills: '.gemini/skills' },
  'mini-swe-agent': { spelt: [] },
  opencode: {
    files: '.config/opencode/opencode.json',
    spelt: [
      '"sky":{"type":"local","command":["node","/sky.mjs"]}',
      '"docs":{"type":"remote","url":"http://docs:1/mcp"}',
      '"old-one":{"type":"remote","url":"http://old:1/sse"}',
    ],
    skills: '.config/opencode/skills',
  },
  openhands: {
    files: '.openhands/mcp.json',
    spelt: [
      '"sky":{"command":"node","args":["/sky.mjs"]}',
      '"docs":{"url":"http://docs:1/mcp","transport":"http"}',
      '"old-one":{"url":"http://old:1/sse","transport":"sse"}',
    ],
    skills: '.openhands/skills',
  },
  pi: { spelt: [], skills: '.pi/agent/skills' },
  'qwen-coder': { files: '.qwen/settings.json', spelt: googlesWay(), skills: '.qwen/skills' },
}
const mcpServers: AgentAt['mcpServers'] = [
  { name: 'sky', transport: 'stdio', command: 'node', args: ['/sky.mjs'] },
  { name: 'docs', transport: 'streamable-http', url: 'http://docs:1/mcp', args: [] },
  { name: 'old one', transport: 'sse', url: 'http://old:1/sse', args: [] },
]
const instruction = `--help'; echo "$HOME" \\\n`

describe.each(plugins.map((plugin) => ({ name: plugin.name, plugin })))('$name', ({ name, plugin }) => {
  const make = (options: object = {}) => plugin.make(plugin.options.parse(options), { env: {}, stateDir: '/nowhere' })

  test('is told where its model is, what to do and with which key, which no list of processes shows', async () => {
    const { line, env, files } = await staged(make())
    const told = JSON.stringify([env, files])
    expect(told).toContain('http://127.0.0.1:4711')
    expect(told).toMatch(/sk-trial-[0-9a-f]{48}/)
    expect(line).not.toContain('sk-trial-')
    // Quoted for the shell, so that it arrives unchanged.
    expect(line).toContain(instruction.replaceAll("'", `'\\''`))
    expect(line + told).toMatch(/\bqwen3-coder\b/)
    expect(line + told).not.toMatch(/undefined|\[object/)
    expect(line).toMatch(/ < \/dev\/null > \/logs\/agent\/[\w-]+\.txt 2>&1$/)
    expect(env.HOME).toMatch(/^\/opt\/ot-agent-homes\/[0-9a-f]{8}$/)
    for (const path of Object.keys(files)) expect(path.startsWith(`${env.HOME}/`)).toBe(true)
  })

  test('gets MCP servers and skills by its own configuration, or else in the instruction', async () => {
    const { files: path, spelt, skills } = offersOf[name] ?? { spelt: [] }
    const { line, env, files, ran } = await staged(make(), { mcpServers, skillsDir: '/the/skills' })
    const text = files[`${env.HOME}/${path}`] ?? ''
    const told = text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text
    for (const server of spelt) expect(told).toContain(server)
    for (const { name } of mcpServers.slice(spelt.length)) expect(line).toContain(`\n- ${name} (transport: `)
    expect(line.includes('MCP Servers:')).toBe(spelt.length < mcpServers.length)
    const link = ran.find(({ argv }) => argv[2]?.includes('ln -s'))?.argv.slice(4)
    expect(link?.[0]).toBe(skills && '/the/skills')
    expect(link?.[2]).toBe(skills && `${env.HOME}/${skills}`)
    expect(line.includes('/the/skills/fly/SKILL.md')).toBe(skills === undefined)
  })

  test('has an exact version, and another one on demand', () => {
    expect(make()).toMatchObject({ name, version: expect.stringMatching(/^\d+\.\d+\.\d+$/), needsModel: true })
    expect(make({ version: '9.8.7' }).version).toBe('9.8.7')
    expect(plugin.options.safeParse({ version: 'latest; rm' }).success).toBe(false)
  })
})

function googlesWay(): string[] {
  const sky = '"sky":{"command":"node","args":["/sky.mjs"]}'
  return [sky, '"docs":{"httpUrl":"http://docs:1/mcp"}', '"old-one":{"url":"http://old:1/sse"}']
}

interface Offered {
  readonly mcpServers: AgentAt['mcpServers']
  readonly skillsDir?: string
}

/** What an agent runs and writes, in a sandbox that only records. */
async function staged(agent: Agent, { mcpServers, skillsDir }: Offered = { mcpServers: [] }) {
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
      const listed = argv[2]?.includes('/*/SKILL.md')
      const stdout = listed ? `${skillsDir}/fly/SKILL.md\0---\nname: fly\ndescription: How to fly\n---\n\0` : ''
      return { exitCode: 0, stdout, stderr: '', timedOut: false, truncated: false }
    },
  }
  const record = { usage: () => {}, metadata: () => {}, log: () => {}, mark: () => {}, refused: () => {} }
  const task = { environment: { skillsDir } }
  const at = { task, mcpServers, sandbox, client, instruction, env: {}, record, signal: new AbortController().signal }
  await agent.solve({ ...at, logsDir: await makeTempDir(), mask: (text: string) => text } as unknown as AgentAt)
  const last = ran.at(-1)
  return { line: last?.argv[2] ?? '', env: last?.env ?? {}, files, ran }
}
