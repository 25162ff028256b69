import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import type { MapStage, ModelSettings, StageContext } from '../../core/stage.ts'
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
import { rollTasks } from '../shared/rolling/roll-tasks.ts'
import type { RecipeTrace } from '../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  ...rollingOptions,
  ...assumedOptions,
  teacher: z
    .union([modelSettings, z.strictObject({ from: z.string().min(1) })])
    .nullable()
    .describe('A model, the choice of a select-teacher stage above, or null for an agent that needs none.'),
})

/**
 * Rolls out every task with an agent in a sandbox: one trial per row, one job per shard, which resumes after a crash.
 */
export default definePlugin({
  name: 'rollouts/agent',
  summary: 'Roll tasks out with a teacher and an agent in sandboxes; traces come out',
  options,
  make: ({ concurrency, budgetUsd, assume, prices, ...asked }, context): MapStage<TaskRow, RecipeTrace> => {
    const { agent, sandbox, judge } = locatedPlugIns(asked, context)
    const named = asked.teacher !== null && 'model' in asked.teacher ? asked.teacher : null
    const teacher = named ? locatedModel(named, context) : asked.teacher
    const { timeoutMultiplier, agentMayModifySystem } = asked
    const who = named ? identityOfModel(named) : asked.teacher
    return {
      kind: 'map',
      takes: 'task',
      gives: 'trace',
      expensive: true,
      identity: {
        teacher: who,
        agent: chosen(asked.agent),
        sandbox: chosen(asked.sandbox),
        timeoutMultiplier,
        agentMayModifySystem,
        judge: asked.judge && identityOfModel(asked.judge),
      },
      needs: () => {
        // The choice of a stage above is known only once it has run.
        const teachers = teacher === null || 'model' in teacher ? [teacher] : []
        return needsOfRolling({ teachers, agent, sandbox, judge })
      },
      expect: (taken) => expectRollouts(taken, concurrency, { assume, prices }),
      async *run(rows, at) {
        const isKnown = teacher === null || 'model' in teacher
        const model = isKnown ? teacher : locatedModel(await chosenTeacher(teacher.from, at), context)
        const rolling = {
          teacher: model,
          agent,
          sandbox,
          concurrency,
          timeoutMultiplier,
          agentMayModifySystem,
          judge,
          budgetUsd,
        }
        for await (const { trace } of rollTasks(rows, rolling, at)) yield trace
      },
    }
  },
})

const choiceSchema = z.object({ teacher: modelSettings })

async function chosenTeacher(stage: string, at: StageContext): Promise<ModelSettings> {
  const choice = choiceSchema.safeParse(await at.loadResult?.(stage))
  if (choice.success) return choice.data.teacher
  throw new UserError(
    `rollouts/agent: expected stage ${stage} above it to choose a teacher, but it did not`,
    'add a rollouts/select-teacher stage with that id above it',
  )
}
