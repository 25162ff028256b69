import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import { type Dropped, isDropped, type MapStage } from '../../core/stage.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { modelOf } from '../shared/asking/ask.ts'
import { askOptions, identityOf, needsOfAsking, withModel } from '../shared/asking/mapping.ts'
import { hintedTask } from '../shared/rewriting/hinted-task.ts'
import { batches } from '../shared/rolling/batches.ts'
import {
  chosen,
  identityOfModel,
  locatedModel,
  locatedPlugIns,
  modelSettings,
  needsOfRolling,
  rollingOptions,
} from '../shared/rolling/options.ts'
import { type Rolled, rollTasks } from '../shared/rolling/roll-tasks.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  ...askOptions,
  scout: z
    .strictObject({ ...rollingOptions, teacher: modelSettings.nullable() })
    .describe('Who goes first: its trace is what hints are made of.'),
  hints: z.int().min(1).max(10).default(3),
  keepOriginal: z.boolean().default(false).describe('Also pass on the old task, before the new one.'),
})

/**
 * Has a scout solve each task and adds hints from its trace to the instruction; files, tests and solution stay
 * unchanged.
 */
export default definePlugin({
  name: 'augment/hints',
  summary: 'Add hints from the trace of a scout that solved the task',
  options,
  make: (asked, context): MapStage<TaskRow, TaskRow> => {
    const { scout, hints, keepOriginal } = asked
    const { agent, sandbox, judge } = locatedPlugIns(scout, context)
    const teacher = scout.teacher && locatedModel(scout.teacher, context)
    const { timeoutMultiplier, agentMayModifySystem } = scout
    const byJudge = scout.judge && identityOfModel(scout.judge)
    const who = {
      teacher: scout.teacher && identityOfModel(scout.teacher),
      agent: chosen(scout.agent),
      sandbox: chosen(scout.sandbox),
      timeoutMultiplier,
      agentMayModifySystem,
      judge: byJudge,
    }
    return {
      kind: 'map',
      takes: 'task',
      gives: 'task',
      expensive: true,
      identity: { ...identityOf(asked), scout: who },
      needs: () => [...needsOfRolling({ teachers: [teacher], agent, sandbox, judge }), ...needsOfAsking(asked)],
      expect: (taken) => ({
        rows: taken === null ? null : taken * (keepOriginal ? 2 : 1),
        rollouts: taken,
        modelCalls: taken,
        assumes: ['every scout solves its task, and every reply is of the right form at once'],
      }),
      async *run(rows, given) {
        const at = await withModel(given, asked)
        modelOf(at)
        for await (const batch of batches(rows)) {
          const scouted = await scoutAll(rollTasks(batch, { ...scout, agent, sandbox, judge, teacher }, at))
          yield* mapped(batch, keepOriginal, asked.concurrency, async (row) => {
            const trace = scouted.get(row.id)
            return trace && !isDropped(trace) ? hintedTask(row, trace, { ...asked, hints }, at) : unscouted(row, trace)
          })
        }
      },
    }
  },
})

async function* mapped(
  batch: readonly TaskRow[],
  keepOriginal: boolean,
  width: number,
  hint: (row: TaskRow) => Promise<TaskRow | Dropped>,
): AsyncIterable<TaskRow | Dropped> {
  const made = mapInOrder(batch, width, async (row) => ({ row, hinted: await hint(row) }))
  for await (const { row, hinted } of made) yield* keepOriginal ? [row, hinted] : [hinted]
}

/** The trace of each solved task, or why there is none. */
async function scoutAll(rolled: AsyncIterable<Rolled>): Promise<ReadonlyMap<string, RecipeTrace | Dropped>> {
  const found = new Map<string, RecipeTrace | Dropped>()
  for await (const { task, trace } of rolled) {
    if (isDropped(trace)) {
      if (!found.has(task.id)) found.set(task.id, trace)
    } else if (trace.trace_source === 'main' && (trace.reward ?? 0) >= 1) found.set(task.id, trace)
  }
  return found
}

function unscouted({ id }: TaskRow, dropped: Dropped | undefined): Dropped {
  return dropped ?? { drop: 'scout-failed', detail: 'the scout did not solve it, so there is nothing to hint at', id }
}
