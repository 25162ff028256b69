import { basename, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { kindAt, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { RewardsByTask } from '../../stats/interval.ts'
import { evaluate } from '../evaluate.ts'

const number = z.number()
const tasks = z.record(z.string(), z.union([number.transform((value) => [value]), z.array(number)]))

const ownSchema = z.object({ tasks, values: z.record(z.string(), number).default({}) })
const reportSchema = z.object({
  schema: z.literal('eval-report/2'),
  runs: z.array(
    z.object({
      state: z.string(),
      reasons: z.array(z.string()),
      tasks: z.array(z.object({ task: z.string(), trials: z.number(), rewards: z.array(number) })),
    }),
  ),
})

/** The measurements of a cell. */
export interface CellResult {
  /** Values by task, on which variants are compared. */
  readonly tasks: RewardsByTask
  /** Other numbers, for people to read. */
  readonly values: Readonly<Record<string, number>>
  /** Why the result is not trustworthy as a whole; empty if complete. */
  readonly reasons: readonly string[]
}

const storedSchema = z.object({
  schema: z.literal('ablate-result/1'),
  tasks: z.record(z.string(), z.array(number)),
  values: z.record(z.string(), number),
  reasons: z.array(z.string()),
})

/** The result of a finished cell, or null. */
export async function loadResult(cell: string): Promise<CellResult | null> {
  const text = await readTextIfExists(join(cell, 'result.json'))
  const parsed = text === null ? null : storedSchema.safeParse(parseJson(text))
  // An unreadable result is ignored: the cell is measured again.
  return parsed?.success ? { ...parsed.data, tasks: new Map(Object.entries(parsed.data.tasks)) } : null
}

export async function saveResult(cell: string, { tasks: byTask, values, reasons }: CellResult): Promise<void> {
  const stored = { schema: 'ablate-result/1', tasks: Object.fromEntries(byTask), values, reasons }
  await writeAtomic(join(cell, 'result.json'), `${JSON.stringify(stored, null, 2)}\n`)
}

/**
 * Reads what commands wrote. With several results, all their tasks are compared together, each under its file's name.
 */
export async function readOutcomes(paths: readonly string[]): Promise<CellResult> {
  const all = await Promise.all(paths.map(readOutcome))
  const [only] = all
  if (only && all.length === 1) return only
  const names = paths.map((path) => basename(path).replace(/\.json$/, ''))
  const named = all.map((result, i) => {
    const name = names[i] ?? ''
    // Files of the same name in several folders are numbered from the second on.
    const nth = names.slice(0, i + 1).filter((each) => each === name).length
    return { result, name: nth === 1 ? name : `${name}#${nth}` }
  })
  const prefixed = <T>(entries: Iterable<readonly [string, T]>, name: string) =>
    [...entries].map(([key, value]) => [`${name}/${key}`, value] as const)
  return {
    tasks: new Map(named.flatMap(({ result, name }) => prefixed(result.tasks, name))),
    values: Object.fromEntries(named.flatMap(({ result, name }) => prefixed(Object.entries(result.values), name))),
    reasons: named.flatMap(({ result, name }) => result.reasons.map((reason) => `${name}: ${reason}`)),
  }
}

/** Reads our own format, the report of an evaluation, or the directory of a job. */
async function readOutcome(path: string): Promise<CellResult> {
  if ((await kindAt(path)) === 'dir') return ofReport(await evaluate(path), path)
  const text = await readTextIfExists(path)
  if (text === null)
    throw new UserError(`${path}: expected the result of the commands, found nothing`, 'the last command must write it')
  const document = parseJson(text)
  if (document === undefined)
    throw new UserError(`${path}: expected JSON, got ${JSON.stringify(text.trim().slice(0, 40))}`, form)
  const report = reportSchema.safeParse(document)
  if (report.success) return ofReport(report.data, path)
  const own = ownSchema.safeParse(document)
  if (own.success) {
    if (Object.keys(own.data.tasks).length === 0) throw new UserError(`${path}: tasks is empty`, form)
    return { tasks: new Map(Object.entries(own.data.tasks)), values: own.data.values, reasons: [] }
  }
  const [issue] = own.error.issues
  throw new UserError(`${path}: ${issue?.path.join('.') || 'the result'}: ${issue?.message ?? 'not valid'}`, form)
}

const form = 'expected {"tasks": {"NAME": [1, 0]}, "values": {"loss": 0.1}}, or the JSON of eval report'

function ofReport({ runs }: z.output<typeof reportSchema> | Awaited<ReturnType<typeof evaluate>>, path: string) {
  const [run, other] = runs
  if (!run || other)
    throw new UserError(`${path}: expected the result of one agent and model, got ${runs.length}`, 'evaluate only one')
  const scored = run.tasks.filter(({ rewards }) => rewards.length > 0)
  const trials = run.tasks.reduce((sum, each) => sum + each.trials, 0)
  const unscored = trials - scored.reduce((sum, { rewards }) => sum + rewards.length, 0)
  if (scored.length === 0) throw new UserError(`${path}: no trial has a score`, 'its job shows the reason')
  return {
    tasks: new Map(scored.map(({ task, rewards }) => [task, rewards] as const)),
    values: { trials, unscored },
    reasons: run.reasons,
  }
}
