import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import { definePlugin } from '../../../core/plugin.ts'
import type { TaskRow } from '../../../core/row.ts'
import type { Dropped, MapStage, SpineRequest, StageContext } from '../../../core/stage.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import { draftOf, removeDraft } from '../../../lib/drafts.ts'
import {
  identityOfModel,
  located,
  locatedJudge,
  locatedModel,
  modelSettings,
  neededModels,
  rollingOptions,
} from '../../shared/rolling/options.ts'
import { folderOf, placeTask } from '../../shared/rolling/place-tasks.ts'

const { sandbox, concurrency, judge, agent } = rollingOptions
const options = z.strictObject({
  ...{ sandbox, concurrency, judge },
  only: z
    .literal('start')
    .optional()
    .describe('start: only lint, and see whether the environment starts; no solution and no tests run.'),
  retries: z
    .int()
    .nonnegative()
    .default(0)
    .describe('How often to repeat a start that failed for a reason outside the task.'),
  secondOpinion: z
    .strictObject({
      solver: modelSettings,
      reviewer: modelSettings.optional().describe("Default: the solver's model."),
      agent,
      tries: z.int().positive().default(1).describe('How often a task is attempted.'),
    })
    .optional()
    .describe(
      'A solver that sees only the instruction attempts tasks that pass everything else, and a reviewer judges whether they agree.',
    ),
  budgetUsd: z
    .number()
    .positive()
    .optional()
    .describe(
      'Limit for all calls of judges, solvers and reviewers of the stage; a recipe that stops at the limit resumes when it is raised.',
    ),
})

/** How many tasks are unpacked on disk at once. */
const batchTasks = 64

/**
 * Keeps tasks that prove sound in a sandbox: they start, the solution scores 1, doing nothing and shallow solutions do
 * not, repeated runs agree, and no reward can be forged.
 */
export default definePlugin<MapStage<TaskRow, TaskRow>, typeof options>({
  name: 'filters/tasks/verified',
  summary:
    'Keep tasks that pass the verification spine: oracle 1, nop 0, repeatable, no shallow solution, not forgeable',
  options,
  make: ({ concurrency, budgetUsd, only, retries, secondOpinion, ...asked }, context) => {
    const sandbox = located(asked.sandbox, context)
    const judge = locatedJudge(asked.judge, context)
    const opinion = secondOpinion && {
      solver: locatedModel(secondOpinion.solver, context),
      reviewer: secondOpinion.reviewer && locatedModel(secondOpinion.reviewer, context),
      agent: located(secondOpinion.agent, context),
      tries: secondOpinion.tries,
    }
    return {
      kind: 'map',
      takes: 'task',
      gives: 'task',
      // Not a `filter`, which would be repeated before rows are written: proving costs trials, and the rows are still
      // the proven ones, by their digest.
      expensive: true,
      identity: {
        ...{ sandbox: asked.sandbox, judge: asked.judge && identityOfModel(asked.judge) },
        ...(secondOpinion && { secondOpinion: identityOfOpinion(secondOpinion) }),
        ...(only && { only }),
      },
      needs: () => [
        { kind: 'sandbox', sandbox },
        ...neededModels([opinion?.solver, opinion?.reviewer], judge),
        ...(opinion ? [{ kind: 'agent', agent: opinion.agent, hasModel: true } as const] : []),
      ],
      async *run(rows, at) {
        const how = { sandbox, concurrency, judge, opinion, budgetUsd, startOnly: only === 'start', retries }
        let batch: TaskRow[] = []
        for await (const row of rows) {
          batch.push(row)
          if (batch.length < batchTasks) continue
          yield* checkBatch(batch, at, how)
          batch = []
        }
        yield* checkBatch(batch, at, how)
      },
    }
  },
})

async function* checkBatch(
  rows: readonly TaskRow[],
  at: StageContext,
  how: Omit<SpineRequest, 'booksDir' | 'signal' | 'tell'>,
): AsyncIterable<TaskRow | Dropped> {
  at.signal.throwIfAborted()
  if (rows.length === 0) return
  if (!at.services)
    throw new UserError('tasks can be verified only in a recipe', 'check a folder with ot-agent tasks check')
  const dir = draftOf(join(at.workDir, 'checking'))
  try {
    const placed = new Map<string, TaskRow>()
    for (const [nth, row] of rows.entries()) {
      const dropped = await placeTask(row, dir, folderOf(row, nth))
      if (dropped) yield dropped
      else placed.set(join(dir, folderOf(row, nth)), row)
    }
    const { signal } = at
    const tell = (line: string) => at.log(line)
    const request = { ...how, booksDir: join(at.workDir, 'checks', nameOf(rows)), signal, tell }
    for await (const { dir: task, reason, detail } of at.services.check([...placed.keys()], request)) {
      const row = placed.get(task)
      if (!row) throw new Error(`${task} was not asked about`)
      yield reason === null ? row : { drop: reason, id: row.id, ...(detail !== undefined && { detail }) }
    }
  } finally {
    await removeDraft(dir)
  }
}

function identityOfOpinion({ solver, reviewer, agent, tries }: NonNullable<z.output<typeof options>['secondOpinion']>) {
  return { solver: identityOfModel(solver), reviewer: reviewer && identityOfModel(reviewer), agent, tries }
}

/**
 * The same tasks share one folder of records; processes that share a recipe have different tasks, and so different
 * folders.
 */
function nameOf(rows: readonly TaskRow[]): string {
  return digestJson(rows.map(({ id, digest }) => [id, digest])).slice(0, 16)
}
