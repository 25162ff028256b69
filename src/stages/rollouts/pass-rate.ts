import { z } from 'zod'
import { definePlugin } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import { type Dropped, isDropped, type MapStage, type StageContext } from '../../core/stage.ts'
import { batches } from '../shared/rolling/batches.ts'
import { assumedOptions, expectRollouts } from '../shared/rolling/expect.ts'
import {
  chosen,
  identityOfModel,
  locatedModel,
  locatedPlugIns,
  modelSettings,
  needsOfRolling,
  rollingOptions,
} from '../shared/rolling/options.ts'
import type { PlacedTask } from '../shared/rolling/place-tasks.ts'
import { type Rolled, type Rolling, rollTasks } from '../shared/rolling/roll-tasks.ts'

const options = z.strictObject({
  ...rollingOptions,
  ...assumedOptions,
  teacher: modelSettings.nullable().describe('Whose rate it is; null for an agent that needs no model.'),
  attempts: z.int().positive().default(4).describe('Rollouts of each task.'),
  passReward: z.number().default(1).describe('A rollout with at least this reward passes.'),
  leastScored: z
    .int()
    .positive()
    .default(1)
    .describe('A task of which fewer rollouts were scored goes as `not-measured`.'),
})

type Counting = Pick<z.output<typeof options>, 'attempts' | 'passReward' | 'leastScored'>

/**
 * Rolls out every task several times and stores the share of passes as its signal `pass-rate`: how hard it is for that
 * model.
 */
export default definePlugin({
  name: 'rollouts/pass-rate',
  summary: 'Roll each task out several times and keep the share that passed as a signal, to filter by difficulty',
  options,
  make: ({ concurrency, budgetUsd, assume, prices, ...asked }, context): MapStage<TaskRow, TaskRow> => {
    const { timeoutMultiplier, agentMayModifySystem, attempts, passReward, leastScored } = asked
    const { agent, sandbox, judge } = locatedPlugIns(asked, context)
    const teacher = asked.teacher && locatedModel(asked.teacher, context)
    const who = { agent: chosen(asked.agent), sandbox: chosen(asked.sandbox) }
    const [model, byJudge] = [
      asked.teacher && identityOfModel(asked.teacher),
      asked.judge && identityOfModel(asked.judge),
    ]
    return {
      kind: 'map',
      takes: 'task',
      gives: 'task',
      expensive: true,
      identity: {
        ...{ teacher: model, ...who, timeoutMultiplier, agentMayModifySystem, judge: byJudge },
        ...{ attempts, passReward, leastScored },
      },
      needs: () => needsOfRolling({ teachers: [teacher], agent, sandbox, judge }),
      expect: (taken) => {
        const rollouts = taken === null ? null : taken * attempts
        return { ...expectRollouts(rollouts, concurrency, { assume, prices }), rows: taken }
      },
      async *run(rows, at) {
        const rolling = {
          teacher,
          agent,
          sandbox,
          concurrency,
          timeoutMultiplier,
          agentMayModifySystem,
          judge,
          budgetUsd,
        }
        for await (const batch of batches(rows))
          yield* measure(batch, { attempts, passReward, leastScored }, rolling, at)
      },
    }
  },
})

/** The tasks of a batch with their rates, in order. */
async function* measure(
  batch: readonly TaskRow[],
  { attempts, passReward, leastScored }: Counting,
  rolling: Rolling,
  at: StageContext,
): AsyncIterable<TaskRow | Dropped> {
  const trials = await tryAll(batch, attempts, rolling, at)
  for (const row of batch) {
    const ends = trials.get(row.id) ?? []
    const rewards = ends.filter((end) => typeof end === 'number')
    if (rewards.length < leastScored) {
      const why = [...new Set(ends.filter((end) => typeof end === 'string'))].join(', ')
      const detail = `${rewards.length} of ${ends.length} rollouts were scored, expected ${leastScored}: ${why}`
      yield { drop: 'not-measured', detail, id: row.id }
      continue
    }
    const passes = rewards.filter((reward) => reward >= passReward).length
    const measured = { 'pass-rate': passes / rewards.length, 'pass-rollouts': rewards.length }
    yield { ...row, signals: { ...row.signals, ...measured } }
  }
}

/**
 * A reward, or why there is none. An agent that never received a valid reply did not try the task, so its 0 says
 * nothing about it.
 */
function endOf(trace: Rolled['trace'], scored: number | null): number | string {
  if (isDropped(trace) && (scored === null || trace.drop === 'no-valid-reply')) return trace.drop
  return scored ?? 'not-verified'
}

/** The outcomes of every attempt at a task, by its id: a reward, or why there is none. */
async function tryAll(
  batch: readonly TaskRow[],
  attempts: number,
  rolling: Rolling,
  at: StageContext,
): Promise<ReadonlyMap<string, readonly (number | string)[]>> {
  const rows = Array.from({ length: attempts }, (_, attempt) =>
    batch.map((row) => ({ ...row, signals: { ...row.signals, attempt } })),
  )
  const ends = new Map<PlacedTask, number | string>()
  // A trial may have several traces, or lack one of them; its score is the same in each.
  for await (const { task, trace, scored } of rollTasks(rows.flat(), rolling, at)) ends.set(task, endOf(trace, scored))
  const byTask = new Map<string, (number | string)[]>()
  for (const [{ id }, end] of ends) byTask.set(id, [...(byTask.get(id) ?? []), end])
  return byTask
}
