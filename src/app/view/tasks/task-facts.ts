import { UserError } from '../../../core/errors.ts'
import { parseLineage } from '../../../formats/harbor-task/draft.ts'
import { parseTaskToml, parseToml } from '../../../formats/harbor-task/parse.ts'

/** What a list shows of a task. All text is hostile. */
export interface TaskFacts {
  readonly name: string
  readonly family: string | null
  readonly difficulty: string | null
  /** The searchable beginning of its instruction. */
  readonly instruction: string
}

/** How much of a task.toml and an instruction is read for a list. */
export const factBytes = 128 << 10
const searchedChars = 1500
const longestValue = 200

/** A task's facts from its files; `folder` is its name if task.toml has none. */
export function taskFacts(folder: string, toml: string, instruction: string): TaskFacts {
  const { task, metadata } = tablesOf(toml)
  const own = Object(metadata) as Record<string, unknown>
  const category = textAt(own, 'category')
  return {
    name: textAt(Object(task), 'name') ?? folder,
    family: parseLineage(own)?.pipeline.slice(0, longestValue) ?? category,
    difficulty: textAt(own, 'difficulty'),
    instruction: instruction.slice(0, searchedChars).replace(/\s+/g, ' ').trim(),
  }
}

function tablesOf(toml: string): Readonly<Record<string, unknown>> {
  try {
    return parseToml(toml, 'task.toml')
  } catch (error) {
    // Reporting what is wrong with it is up to tasks check.
    if (error instanceof UserError) return {}
    throw error
  }
}

function textAt(table: object, key: string): string | null {
  const value = Object.hasOwn(table, key) ? (table as Record<string, unknown>)[key] : null
  if (typeof value !== 'string' && typeof value !== 'number') return null
  return String(value).trim().slice(0, longestValue) || null
}

/** What a task requires of a sandbox, as text; null if task.toml is invalid. */
export function settingsOf(toml: string): (readonly [name: string, value: string])[] | null {
  try {
    const { environment, agent, verifier, steps } = parseTaskToml(toml, 'task.toml')
    const { network, cpus, memoryMb, dockerImage, gpus } = environment
    const facts: [string, string | undefined][] = [
      ['Image', dockerImage],
      ['Network', network.mode === 'allowlist' ? `${network.hosts.length} hosts` : network.mode],
      ['Processors', cpus === undefined ? undefined : String(cpus)],
      ['Memory', memoryMb === undefined ? undefined : `${memoryMb} MB`],
      ['GPUs', gpus > 0 ? String(gpus) : undefined],
      ['Agent time limit', agent.timeoutSec === undefined ? undefined : `${agent.timeoutSec} s`],
      ['Tests time limit', `${verifier.timeoutSec} s`],
      ['Steps', steps.length > 0 ? String(steps.length) : undefined],
    ]
    return facts.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value.slice(0, longestValue)] as const],
    )
  } catch (error) {
    if (error instanceof UserError) return null
    throw error
  }
}
