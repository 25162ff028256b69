import type { AgentAt } from '../../../core/agent.ts'
import type { McpServer } from '../../../core/task.ts'
import { readYaml } from '../../../lib/read-yaml.ts'

/** Tells a model at a terminal where to find MCP servers; empty without any. */
export function mcpText(servers: readonly McpServer[]): string {
  if (servers.length === 0) return ''
  const lines = servers.map(({ name, transport, url, command, args }) => {
    const place = transport === 'stdio' ? `command: ${[command, ...args].join(' ')}` : `url: ${url}`
    return `- ${name} (transport: ${transport}, ${place})`
  })
  return `MCP Servers:\nThese servers offer tools for the task. Reach them from the terminal.\n${lines.join('\n')}`
}

/** A skill that a task offers: what it is about, and the file to read. */
export interface Skill {
  readonly name: string
  readonly description: string
  readonly location: string
}

/** Lists the skills and the file to read for each; empty without any. */
export function skillsText(skills: readonly Skill[]): string {
  if (skills.length === 0) return ''
  const each = skills.map(
    ({ name, description, location }) =>
      `<skill>\n<name>${name}</name>\n<description>${description}</description>\n<location>${location}</location>\n</skill>`,
  )
  return `<available_skills>\n${each.join('\n')}\n</available_skills>`
}

const listSkills = `for file in "$1"/*/SKILL.md; do [ -f "$file" ] && printf '%s\\0' "$file" && head -c 8192 "$file" | tr -d '\\0' && printf '\\0'; done; true`

/** The skills in the directory named by the task. */
export async function findSkills({ task, sandbox, signal, user }: AgentAt): Promise<Skill[]> {
  const dir = task.environment.skillsDir
  if (dir === undefined) return []
  const options = { signal, timeoutSec: 30, ...(user !== undefined && { user }) }
  const { stdout } = await sandbox.exec(['sh', '-c', listSkills, 'sh', dir], options)
  const parts = stdout.split('\0')
  const found: Skill[] = []
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const skill = parseSkill(parts[i] ?? '', parts[i + 1] ?? '')
    if (skill) found.push(skill)
  }
  return found
}

/** Parses a skill's name and purpose from between the two lines of dashes at its top; null without them. */
export function parseSkill(location: string, text: string): Skill | null {
  const matter = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  if (matter === undefined) return null
  try {
    const fields: unknown = readYaml(matter, { maxAliasCount: 10 })
    if (typeof fields !== 'object' || fields === null) return null
    const { name, description } = { name: undefined, description: undefined, ...fields }
    return typeof name === 'string' && typeof description === 'string' ? { name, description, location } : null
  } catch {
    return null
  }
}
