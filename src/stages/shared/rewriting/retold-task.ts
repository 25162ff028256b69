import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskLineage, TaskRow } from '../../../core/row.ts'
import { type Dropped, isDropped, type StageContext } from '../../../core/stage.ts'
import { instructionFile, solutionDir, testsDir } from '../../../core/task-paths.ts'
import { lineageTable } from '../../../formats/harbor-task/draft.ts'
import { editTaskTomls } from '../../../formats/harbor-task/edit.ts'
import { makeScratchDir, removeDraft } from '../../../lib/drafts.ts'
import { exists } from '../../../lib/files.ts'
import { walkTree } from '../../../lib/tree.ts'
import { type Answer, lineageOf } from '../asking/ask.ts'
import { placeTask } from '../rolling/place-tasks.ts'
import { taskRowOf } from '../task-row.ts'
import type { TaskTexts } from './details.ts'

/** How a task is rewritten, and the suffix of its name. */
export interface Telling {
  readonly manner: string
  readonly suffix: string
}

/** The task with another instruction: same files, same tests, same solution; the old task becomes the parent. */
export async function retoldTask(
  row: TaskRow,
  telling: Telling,
  at: StageContext,
  tell: (old: TaskTexts) => Promise<{ readonly instruction: string; readonly told: Answer<unknown> } | Dropped>,
): Promise<TaskRow | Dropped> {
  await mkdir(at.workDir, { recursive: true })
  const parent = await makeScratchDir(join(at.workDir, `${telling.manner}-`))
  const dir = join(parent, 'task')
  try {
    const refused = await placeTask(row, parent, 'task')
    if (refused) return refused
    if (!(await exists(instructionFile(dir))))
      return { drop: 'several-steps', detail: 'it has no single instruction', id: row.id }
    const told = await tell(await textsOf(dir))
    if (isDropped(told)) return told
    await writeFile(instructionFile(dir), `${told.instruction}\n`)
    await markParent(dir, row, telling, { told: told.told, seed: at.seed })
    const made = await taskRowOf(dir, row.source, `${row.name}-${telling.suffix}`)
    return isDropped(made) ? made : { ...made, signals: row.signals }
  } finally {
    await removeDraft(parent)
  }
}

/** The most text of a task that a model is shown. */
const limitChars = 500_000

/** The deciding texts of a task on disk: its instruction, its tests and its solution. */
async function textsOf(dir: string): Promise<TaskTexts> {
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

interface Origin {
  readonly told: Answer<unknown>
  readonly seed: number
}

/** Records which task this one was made from, and how; adds the suffix to its name. */
async function markParent(
  dir: string,
  row: TaskRow,
  { manner, suffix }: Telling,
  { told, seed }: Origin,
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
