import { readFileSync } from 'node:fs'
import type { AgentAt } from '../../core/agent.ts'
import { messageOf, UserError } from '../../core/errors.ts'
import { findSkills, mcpText, skillsText } from '../shared/skills-and-mcp/instruction-text.ts'

/** Inserts an instruction into the user's own text; made from a template file with a single variable. */
export type Template = (instruction: string) => string

const variable = /\{\{-?\s*instruction\s*-?\}\}/g

/** Loads a template; throws UserError when the file is missing or uses any other variable. */
export function loadTemplate(path: string): Template {
  const text = read(path)
  const rest = text.replace(variable, '')
  const hint =
    'a prompt template may use {{ instruction }}, and must; other variables, filters and blocks are not supported'
  const other = /\{\{[\s\S]{0,60}|\{%[\s\S]{0,60}|\{#[\s\S]{0,60}/.exec(rest)
  if (other) throw new UserError(`${path}: cannot use ${JSON.stringify(other[0])} in a prompt template`, hint)
  if (rest === text) throw new UserError(`${path}: a prompt template without {{ instruction }}`, hint)
  // As in Jinja, one line break at the end of the file is not part of the text.
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

/** The model's full instruction: the task's, then the tools and skills it may use. */
export async function fullInstruction(at: AgentAt, template: Template | null): Promise<string> {
  const instruction = template ? template(at.instruction) : at.instruction
  return [instruction, mcpText(at.mcpServers), skillsText(await findSkills(at))]
    .filter((part) => part !== '')
    .join('\n\n')
}
