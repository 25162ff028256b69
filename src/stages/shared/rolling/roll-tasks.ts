import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../../../core/errors.ts'
import type { TaskRow } from '../../../core/row.ts'
import {
  type Dropped,
  isDropped,
  type ModelSettings,
  type PlugInChoice,
  type RolledOut,
  type StageContext,
} from '../../../core/stage.ts'
import type { TraceRow } from '../../../formats/traces/row.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { draftOf, renameDraft } from '../../../lib/drafts.ts'
import type { RecipeTrace } from '../rollout-text/trace-row.ts'
import { identityOfModel } from './options.ts'
import { folderOf, type PlacedTask, placeTask } from './place-tasks.ts'

/** One rollout of each task, all with the same settings. */
export interface Rolling {
  readonly teacher: ModelSettings | null
  readonly agent: PlugInChoice
  readonly sandbox: PlugInChoice
  readonly concurrency: number
  readonly timeoutMultiplier?: number | undefined
  /** Lets agents change the system that the tests of every task run on. */
  readonly agentMayModifySystem?: boolean | undefined
  readonly judge?: ModelSettings | undefined
  readonly budgetUsd?: number | undefined
}

/** A trace of a task, or why there is none, and its trial's score. */
export type Rolled = {
  readonly task: PlacedTask
  readonly trace: RecipeTrace | Dropped
  readonly scored: number | null
}

/**
 * Runs one trial of every task in a job below `workDir` and yields the outcomes. The same tasks and settings make the
 * same job: finished trials are read, the rest are run.
 */
export async function* rollTasks(
  rows: AsyncIterable<TaskRow> | Iterable<TaskRow>,
  rolling: Rolling,
  at: StageContext,
): AsyncGenerator<Rolled, void, void> {
  const { services } = at
  if (!services) throw new UserError('rollouts can be run only in a recipe', 'run the stage with ot-agent recipe run')
  const { concurrency, budgetUsd, judge, teacher: model, ...rest } = rolling
  // A model's address is not part of the identity: a job resumes with the same model elsewhere.
  const who = { model: model && identityOfModel(model), judge: judge && identityOfModel(judge) }
  const { placed, refused, name, tasksDir } = await placeAll(rows, { ...rest, ...who }, at)
  try {
    yield* refused
    if (placed.size === 0) return
    const jobDir = join(at.workDir, 'jobs', name)
    at.log(
      `${placed.size} ${placed.size === 1 ? 'rollout' : 'rollouts'} with ${rest.agent.name}${model ? ` and ${model.model}` : ''} in ${jobDir}`,
    )
    const { signal } = at
    const tell = (line: string) => at.log(line)
    const request = { ...rest, model, judge, tasksDir, jobDir, concurrency, budgetUsd, signal, tell }
    // Trials end in any order, and in a different one after a crash; rows come in the order of their tasks, so that
    // they are always the same.
    const rolledBy = new Map<string, Rolled[]>()
    for await (const rolled of services.rollOut(request)) {
      const { folder } = rolled
      const task = placed.get(folder)
      if (!task || wasCut(rolled)) continue
      const { scored } = rolled
      rolledBy.set(folder, [...(rolledBy.get(folder) ?? []), { task, trace: traceOf(rolled, task), scored }])
    }
    for (const folder of placed.keys()) yield* rolledBy.get(folder) ?? []
    const open = new Set([...placed.keys()].filter((folder) => !rolledBy.has(folder)))
    yield* unfinished(open, placed, budgetUsd)
  } finally {
    await rm(tasksDir, { recursive: true, force: true })
  }
}

type Placed = ReadonlyMap<string, PlacedTask>

/** Puts all tasks into a folder that is named, like their job, after the tasks and the settings. */
async function placeAll(rows: AsyncIterable<TaskRow> | Iterable<TaskRow>, settings: object, at: StageContext) {
  const placing = draftOf(join(at.workDir, 'placing'))
  await rm(placing, { recursive: true, force: true })
  await mkdir(placing, { recursive: true })
  const placed = new Map<string, PlacedTask>()
  const refused: Rolled[] = []
  let nth = 0
  for await (const row of rows) {
    at.signal.throwIfAborted()
    const folder = folderOf(row, nth++)
    const { archive: _, ...task } = row
    const dropped = await placeTask(row, placing, folder)
    if (dropped) refused.push({ task, trace: dropped, scored: null })
    else placed.set(folder, task)
  }
  const tasks = [...placed].map(([folder, { id, digest }]) => [folder, id, digest])
  const name = `rollouts-${digestJson({ settings, tasks }).slice(0, 16)}`
  const tasksDir = join(at.workDir, 'tasks', name)
  await rm(tasksDir, { recursive: true, force: true })
  await mkdir(dirname(tasksDir), { recursive: true })
  await renameDraft(placing, tasksDir)
  return { placed, refused, name, tasksDir }
}

/** A trial without an ending must not be taken for a failure of the agent. */
function* unfinished(open: ReadonlySet<string>, placed: Placed, budgetUsd: number | undefined): Iterable<Rolled> {
  if (open.size > 0 && budgetUsd !== undefined)
    throw new UserError(
      `the budget of ${budgetUsd} USD was used up after ${placed.size - open.size} of ${placed.size} rollouts`,
      'raise budgetUsd and run the recipe again: finished work is kept',
    )
  for (const [folder, task] of placed)
    if (open.has(folder)) {
      const trace = { drop: 'not-run', detail: 'its trial did not finish', id: task.id }
      yield { task, trace, scored: null }
    }
}

/** Interrupted by a person or the budget: the job runs it again. */
function wasCut(rolled: RolledOut): boolean {
  return isDropped(rolled) ? rolled.drop === 'cancelled' : 'end' in rolled && rolled.end === 'cancelled'
}

function traceOf(rolled: RolledOut, task: PlacedTask): RecipeTrace | Dropped {
  if (isDropped(rolled))
    return { drop: rolled.drop, detail: [rolled.id, rolled.detail].filter(Boolean).join(': '), id: task.id }
  const { folder: _, scored: __, ...row } = rolled as RolledOut & TraceRow
  const { lineage, signals, source, name } = task
  const id = [row.job, row.trial_name, ...(row.step === null ? [] : [row.step]), row.trace_source, row.episode].join(
    '/',
  )
  return { ...row, id, task: name, source, attempt: signals.attempt ?? row.attempt, lineage, signals }
}
