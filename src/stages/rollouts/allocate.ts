import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { WholeStage } from '../../core/stage.ts'
import { readJson } from '../../lib/parse-json.ts'
import { makeRandom } from '../../lib/random.ts'
import { type Chosen, saveChoice } from '../shared/mixing/choice.ts'
import { apportion } from '../shared/mixing/mix.ts'

const options = z.strictObject({
  target: z.int().positive().optional().describe('Rollouts in all, exactly.'),
  perTask: z.number().min(1).optional().describe('Or this many for each task, on average.'),
  by: z
    .string()
    .min(1)
    .optional()
    .describe('The signal of a task that the rest is shared out by; without one, all tasks are alike.'),
  most: z.int().positive().optional().describe('No task has more.'),
})

interface Unique {
  readonly row: number
  readonly weight: number
}

/**
 * Decides how often each task is rolled out: every unique task once, and the rest in proportion to a signal, up to an
 * exact total.
 */
export default definePlugin({
  name: 'rollouts/allocate',
  summary: 'Repeat tasks to an exact number of rollouts: each once, the rest by a quality signal',
  options,
  make: (asked): WholeStage => {
    if ((asked.target === undefined) === (asked.perTask === undefined))
      throw new UserError(
        'rollouts/allocate: expected one of target and perTask',
        'give the total, or the mean per task',
      )
    return {
      kind: 'mixer',
      takes: 'task',
      version: 1,
      expect: (taken, { wholeRows }) => ({
        rows: taken === null ? (asked.target ?? null) : totalOf(asked, taken, wholeRows),
      }),
      async choose([input], { sql, seed, wholeRows }) {
        const rows = await sql.rows(`SELECT row, id, digest, signals FROM ${input?.view} ORDER BY row`)
        const { unique, copies } = split(rows, asked.by)
        const counts = share(unique, totalOf(asked, unique.length, wholeRows), asked.most, seed)
        return saveChoice(sql, [...attemptsOf(unique, counts), ...copies])
      },
    }
  },
})

/** Separates the first row of every task from repeats; a repeated task is still one task. */
function split(rows: readonly Readonly<Record<string, unknown>>[], by: string | undefined) {
  const seen = new Map<string, string>()
  const unique: Unique[] = []
  const copies: Chosen[] = []
  for (const { row, id, digest, signals } of rows) {
    const first = seen.get(String(digest))
    if (first !== undefined)
      copies.push({
        ...{ row: Number(row), position: null, reason: 'copy-of-a-task', detail: `the same task as ${first}` },
      })
    else unique.push({ row: Number(row), weight: by === undefined ? 1 : weightOf(String(id), String(signals), by) })
    if (first === undefined) seen.set(String(digest), String(id))
  }
  return { unique, copies }
}

function weightOf(id: string, signals: string, by: string): number {
  const value: unknown = Object(readJson(signals))[by]
  if (typeof value === 'number' && value >= 0) return value
  throw new UserError(
    `rollouts/allocate: expected a signal ${by} of 0 or more, task ${id} has ${JSON.stringify(value) ?? 'none'}`,
    'add the stage that measures it above',
  )
}

/**
 * The total number of rollouts for some tasks. In a run with a limit, they get the share that corresponds to their part
 * of all tasks: as many each as in the whole run. A target too small for the whole run was meant for this one.
 */
function totalOf(
  { target, perTask = 1 }: z.output<typeof options>,
  tasks: number,
  wholeRows: number | null | undefined,
): number {
  if (target === undefined) return Math.round(tasks * perTask)
  if (wholeRows === undefined || (wholeRows !== null && target < wholeRows)) return target
  if (wholeRows === null) return Math.min(target, tasks * enoughEach)
  return Math.min(target, Math.max(tasks, Math.round((target * tasks) / wholeRows)))
}

/** Used when the number of tasks without the limit is unknown: enough for a task to occur twice. */
const enoughEach = 2

/**
 * One for each task, and the rest by weight; what rounding leaves over is drawn at random, so that no source gets it
 * for coming first.
 */
function share(unique: readonly Unique[], total: number, most: number | undefined, seed: number): number[] {
  const cap = most ?? total
  if (unique.length > 0 && (total < unique.length || total > unique.length * cap))
    throw new UserError(
      `rollouts/allocate: expected ${unique.length} to ${unique.length * cap} rollouts for ${unique.length} unique tasks, got target ${total}`,
      'sample the tasks above it, or change target or most',
    )
  const order = makeRandom(seed, 'allocate').shuffle([...unique.keys()])
  const weights = order.map((i) => unique[i]?.weight ?? 0)
  const even = weights.every((weight) => weight === 0)
  const caps = order.map(() => cap - 1)
  const rest = total - unique.length
  const weighted = apportion(rest, even ? weights.map(() => 1) : weights, caps)
  // Tasks of zero weight take what the others, being at their caps, cannot.
  const left = rest - weighted.reduce((a, b) => a + b, 0)
  const filled = apportion(
    left,
    weights.map(() => 1),
    caps.map((most, i) => most - (weighted[i] ?? 0)),
  )
  const counts: number[] = unique.map(() => 0)
  for (const [place, i] of order.entries()) counts[i] = 1 + (weighted[place] ?? 0) + (filled[place] ?? 0)
  return counts
}

/**
 * Every task once, then the second attempts, and so on: however early the rollouts stop, no task is missing because of
 * another.
 */
function* attemptsOf(unique: readonly Unique[], counts: readonly number[]): Iterable<Chosen> {
  const attempts = counts.reduce((most, count) => Math.max(most, count), 0)
  let position = 0
  for (let attempt = 0; attempt < attempts; attempt++)
    for (const [i, { row }] of unique.entries())
      if (attempt < (counts[i] ?? 0)) yield { row, position: position++, signals: { attempt } }
}
