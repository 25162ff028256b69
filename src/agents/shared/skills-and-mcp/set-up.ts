import { posix } from 'node:path'
import type { AgentAt } from '../../../core/agent.ts'
import type { McpServer } from '../../../core/task.ts'
import { findSkills, mcpText, skillsText } from './instruction-text.ts'

/** How an agent can be configured with what a task offers; whatever it does not support goes into its instruction. */
export interface SkillsAndMcpSupport {
  readonly name: string
  /** One MCP server as the agent's own configuration spells it; null for one it cannot reach. */
  mcp?(server: McpServer): object | null
  /** Where under its home it looks for skills. */
  readonly skills?: string
}

/** What a task offers its agent, in the forms that this agent supports. */
export interface SkillsAndMcp {
  /** By names that every agent accepts, as its own configuration spells them. */
  readonly mcpServers: Readonly<Record<string, object>>
  /** Where the agent finds the task's skills; null when there are none for it. */
  readonly skillsDir: string | null
  /** The task's instruction, plus anything that could not be configured. */
  readonly instruction: string
}

/** Sets up the MCP servers and skills that the task offers in an agent's home inside the sandbox. */
export async function setUpSkillsAndMcp(agent: SkillsAndMcpSupport, home: string, at: AgentAt): Promise<SkillsAndMcp> {
  const mcpServers: Record<string, object> = {}
  const inWords: McpServer[] = []
  for (const server of at.mcpServers) {
    const spelt = agent.mcp?.(server) ?? null
    if (spelt) mcpServers[freeName(server.name, mcpServers)] = spelt
    else inWords.push(server)
    const way = spelt ? 'its configuration' : 'the instruction: the agent has no configuration for it'
    at.record.log(`MCP server ${server.name} (${server.transport}) is passed to ${agent.name} in ${way}`)
  }
  const skillsDir = agent.skills === undefined ? null : await linkSkills(`${home}/${agent.skills}`, at)
  const skills = agent.skills === undefined ? await findSkills(at) : []
  const instruction = [at.instruction, mcpText(inWords), skillsText(skills)].filter((part) => part !== '').join('\n\n')
  return { mcpServers, skillsDir, instruction }
}

/** Server names become parts of tool names, which allow few characters. */
function freeName(name: string, taken: Readonly<Record<string, object>>): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '-')
  let free = plain
  for (let i = 2; free in taken; i += 1) free = `${plain}-${i}`
  return free
}

/** Makes the task's skills available where the agent looks for them. */
async function linkSkills(target: string, { task, sandbox, signal, record }: AgentAt): Promise<string | null> {
  const source = task.environment.skillsDir
  if (source === undefined) return null
  const link = '[ -d "$1" ] && mkdir -p "$2" && ln -s "$1" "$3"'
  const argv = ['sh', '-c', link, 'sh', source, posix.dirname(target), target]
  const { exitCode } = await sandbox.exec(argv, { user: 'root', signal })
  if (exitCode === 0) return target
  record.log(`no skills: the task's skills_dir ${source} is not a directory in its sandbox`)
  return null
}
