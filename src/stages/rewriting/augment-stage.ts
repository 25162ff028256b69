import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { TaskLineage, TaskRow } from '../../core/row.ts'
import { type Dropped, isDropped, type Stage } from '../../core/stage.ts'
import { instructionFile, solutionDir, testsDir } from '../../core/task-paths.ts'
import { lineageTable } from '../../formats/harbor-task/draft.ts'
import { editTaskTomls } from '../../formats/harbor-task/edit.ts'
import { exists } from '../../lib/files.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { removeTree } from '../../lib/remove-tree.ts'
import { walkTree } from '../../lib/tree.ts'
import { type Answer, lineageOf, modelOf } from '../asking/ask.ts'
import { type AskingContext, askOptions, identityOf, withModel } from '../asking/mapping.ts'
import { Spending } from '../asking/spending.ts'
import { placeTask } from '../rolling/place-tasks.ts'
import { taskRowOf } from '../task-rows/task-row.ts'
import type { JudgedBy } from './details.ts'
import { type Manner, rewriteInstruction } from './rewrite-instruction.ts'

/** Options of every stage that tells tasks anew. */
export const augmentOptions = z.strictObject({
  ...askOptions,
  /** New tellings of each task. */
  variants: z.number().int().min(1).max(20).default(1),
  /** Whether the old task goes on too, before the new ones. */
  keepOriginal: z.boolean().default(false),
})
type Options = z.output<typeof augmentOptions>

/** Tells every task anew: same files, same tests, same solution, and the old task is its parent. */
export function augmentStage(manner: Manner, options: Options): Stage<TaskRow, TaskRow> {
  // One for all runs of the stage: pipelines run it row by row.
  const spending = new Spending(options)
  return {
    takes: 'task',
    gives: 'task',
    expensive: true,
    identity: identityOf(options),
    expect: (taken) => ({
      rows: taken === null ? null : taken * (options.variants + (options.keepOriginal ? 1 : 0)),
      modelCalls: taken === null ? null : taken * options.variants,
    }),
    async *run(rows, given) {
      const at = await withModel(given, options, spending)
      modelOf(at)
      for await (const made of mapInOrder(rows, options.concurrency, (row) => augment(row, manner, options, at))) {
        at.signal.throwIfAborted()
        yield* made
      }
    },
  }
}

async function augment(
  row: TaskRow,
  manner: Manner,
  options: Options,
  at: AskingContext,
): Promise<(TaskRow | Dropped)[]> {
  const made: (TaskRow | Dropped)[] = options.keepOriginal ? [row] : []
  for (let variant = 1; variant <= options.variants; variant++)
    made.push(await tellAnew(row, manner, variant, options, at))
  return made
}

async function tellAnew(
  row: TaskRow,
  manner: Manner,
  variant: number,
  { system, temperature, maxOutputTokens, tries }: Options,
  at: AskingContext,
): Promise<TaskRow | Dropped> {
  await mkdir(at.workDir, { recursive: true })
  const parent = await mkdtemp(join(at.workDir, 'augment-'))
  const dir = join(parent, 'task')
  try {
    const refused = await placeTask(row, parent, 'task')
    if (refused) return refused
    if (!(await exists(instructionFile(dir))))
      return { drop: 'several-steps', detail: 'it has no single instruction', id: row.id }
    const how = { system, temperature, maxOutputTokens, tries, id: row.id }
    const told = await rewriteInstruction(await judgedBy(dir), { manner, variant, how }, at)
    if (isDropped(told)) return told
    await writeFile(instructionFile(dir), `${told.value}\n`)
    const suffix = variant === 1 ? manner : `${manner}-${variant}`
    await markParent(dir, row, manner, suffix, told, at.seed)
    const made = await taskRowOf(dir, row.source, `${row.name}-${suffix}`)
    return isDropped(made) ? made : { ...made, signals: row.signals }
  } finally {
    await removeTree(parent)
  }
}

/** Nobody is shown more of a task than this much text. */
const limitChars = 500_000

/** What decides about a task on disk: its instruction, its tests and its solution. */
export async function judgedBy(dir: string): Promise<JudgedBy> {
  const [tests, solution] = await Promise.all([testsDir(dir), solutionDir(dir)].map(textBelow))
  return { instruction: await readFile(instructionFile(dir), 'utf8'), tests: tests ?? '', solution: solution ?? '' }
}

async function textBelow(dir: string): Promise<string> {
  if (!(await exists(dir))) return ''
  let text = ''
  for await (const { path, kind } of walkTree(dir)) {
    if (kind !== 'file' || text.length > limitChars) continue
    text += `${(await readFile(join(dir, path), 'utf8')).slice(0, limitChars)}\n`
  }
  return text
}

/** Writes down which task this one was made of, and how; its name gets the suffix. */
export async function markParent(
  dir: string,
  row: TaskRow,
  manner: string,
  suffix: string,
  told: Answer<unknown>,
  seed: number,
): Promise<void> {
  const usual = { pipeline: row.source, rowId: row.id, rowDigest: row.digest }
  const lineage: TaskLineage = {
    ...usual,
    ...row.lineage,
    strategy: manner,
    seed,
    parents: [row.digest],
    ...lineageOf(told),
  }
  await editTaskTomls([dir], (table) => {
    const task = Object(table.task) as Record<string, unknown>
    const metadata = Object(table.metadata) as Record<string, unknown>
    return {
      ...table,
      ...(typeof task.name === 'string' && { task: { ...task, name: `${task.name}-${suffix}` } }),
      metadata: { ...metadata, lineage: lineageTable(lineage) },
    }
  })
}
