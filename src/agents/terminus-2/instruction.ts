import { readFileSync } from 'node:fs'
import { parse as parseYaml } from 'yaml'
import type { AgentAt } from '../../core/agent.ts'
import { messageOf, UserError } from '../../core/errors.ts'
import type { McpServer } from '../../core/task.ts'

/** Puts an instruction into the user's own text; made from a template file that knows one variable and nothing else. */
export type Template = (instruction: string) => string

const variable = /\{\{-?\s*instruction\s*-?\}\}/g

/** Loads a template; throws UserError when the file is not there or wants more than the one variable. */
export function loadTemplate(path: string): Template {
  const text = read(path)
  const rest = text.replace(variable, '')
  const hint = 'a prompt template may use {{ instruction }}, and must; there are no other variables, filters or blocks'
  const other = /\{\{[\s\S]{0,60}|\{%[\s\S]{0,60}|\{#[\s\S]{0,60}/.exec(rest)
  if (other) throw new UserError(`${path}: cannot use ${JSON.stringify(other[0])} in a prompt template`, hint)
  if (rest === text) throw new UserError(`${path}: a prompt template without {{ instruction }}`, hint)
  // As Jinja does, one line end at the end of the file is not part of the text.
  const body = text.replace(/\r?\n$/, '')
  return (instruction) => body.replace(variable, () => instruction)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UserError(`cannot read the prompt template: ${messageOf(error)}`, 'check prompt_template_path')
  }
}

/** What the model is told to do: the task's words, then the tools and skills it may use. */
export async function fullInstruction(at: AgentAt, template: Template | null): Promise<string> {
  const instruction = template ? template(at.instruction) : at.instruction
  return [instruction, mcpText(at.mcpServers), skillsText(await findSkills(at))]
    .filter((part) => part !== '')
    .join('\n\n')
}

export function mcpText(servers: readonly McpServer[]): string {
  if (servers.length === 0) return ''
  const lines = servers.map(({ name, transport, url, command, args }) => {
    const place = transport === 'stdio' ? `command: ${[command, ...args].join(' ')}` : `url: ${url}`
    return `- ${name} (transport: ${transport}, ${place})`
  })
  return `MCP Servers:\nThese servers offer tools for the task. Reach them from the terminal.\n${lines.join('\n')}`
}

export interface Skill {
  readonly name: string
  readonly description: string
  readonly location: string
}

export function skillsText(skills: readonly Skill[]): string {
  if (skills.length === 0) return ''
  const each = skills.map(
    ({ name, description, location }) =>
      `<skill>\n<name>${name}</name>\n<description>${description}</description>\n<location>${location}</location>\n</skill>`,
  )
  return `<available_skills>\n${each.join('\n')}\n</available_skills>`
}

const listSkills = `for file in "$1"/*/SKILL.md; do [ -f "$file" ] && printf '%s\\0' "$file" && head -c 8192 "$file" | tr -d '\\0' && printf '\\0'; done; true`

async function findSkills({ task, sandbox, signal, user }: AgentAt): Promise<Skill[]> {
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

/** A skill tells its name and purpose between two lines of dashes at its top; one that does not is none. */
export function parseSkill(location: string, text: string): Skill | null {
  const matter = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1]
  if (matter === undefined) return null
  try {
    const fields: unknown = parseYaml(matter, { maxAliasCount: 10 })
    if (typeof fields !== 'object' || fields === null) return null
    const { name, description } = { name: undefined, description: undefined, ...fields }
    return typeof name === 'string' && typeof description === 'string' ? { name, description, location } : null
  } catch {
    return null
  }
}
