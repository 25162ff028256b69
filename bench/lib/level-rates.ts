import { readFileSync } from 'node:fs'
import { type ComposeRequest, composeTask } from '../../data/terminal-composer/compose/compose-task.ts'
import { type Level, levels } from '../../data/terminal-composer/compose/work.ts'

/** The seed of the tasks that the studies' students were evaluated on: `generate --first 9000 --count 200`. */
const seed = 42

/** The results of several solvers on one composed task. */
export interface Attempts {
  readonly name: string
  readonly domain: string
  readonly operation: string
  /** As the task states it. */
  readonly level: Level
  /** The number of its conditions and of the faults in its data. */
  readonly additions: number
  readonly tried: number
  readonly failed: number
}

/** Which tasks the composer drew from. */
export type Space = Pick<ComposeRequest, 'domains' | 'operations'>

/** The results of the students of one variant of a study on each task, summed over all seeds. */
export function attemptsOf(study: string, variant: string, space: Space): Attempts[] {
  const dir = `studies/results/${study}`
  const { cells } = readJson<{ cells: { variant: string; id: string }[] }>(`${dir}/cells.json`)
  const rewards = new Map<string, number[]>()
  for (const { id } of cells.filter((cell) => cell.variant === variant)) {
    const { tasks } = readJson<{ tasks: Record<string, number[]> }>(`${dir}/cells/${id}/result.json`)
    for (const [name, own] of Object.entries(tasks)) rewards.set(name, [...(rewards.get(name) ?? []), ...own])
  }
  return [...rewards].map(([name, all]) => {
    const failed = all.filter((reward) => reward < 1).length
    return { ...placeOf(name, space), tried: all.length, failed }
  })
}

/** Draws a task's position again: its number and the seed are all that takes. */
function placeOf(name: string, space: Space) {
  const draft = composeTask({ seed, index: Number(name.slice(-6)), ...space })
  if (draft.name !== name) throw new Error(`expected task ${name}, the composer draws ${draft.name}`)
  const { metadata } = (draft.config ?? {}) as { metadata: { category: string; tags: string[]; difficulty: Level } }
  const { category: domain, difficulty: level, tags } = metadata
  const [operation = '', ...additions] = tags
  return { name, domain, operation, level, additions: additions.length }
}

/** Failures by level, easy first. */
export function ratesByLevel(attempts: readonly Attempts[]) {
  return levels.map((level) => ({ level, ...rateOf(attempts.filter((own) => own.level === level)) }))
}

export function rateOf(attempts: readonly Attempts[]): {
  readonly failed: number
  readonly tried: number
  readonly rate: number
} {
  const sum = (key: 'failed' | 'tried') => attempts.reduce((all, own) => all + own[key], 0)
  const [failed, tried] = [sum('failed'), sum('tried')]
  return { failed, tried, rate: failed / tried }
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T
}
