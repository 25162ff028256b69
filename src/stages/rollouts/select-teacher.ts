import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import { isDropped, type ModelSettings, type StageContext, type WholeStage } from '../../core/stage.ts'
import type { SqlSession } from '../../core/whole-set.ts'
import { writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { makeRandom } from '../../lib/random.ts'
import { type Comparison, compareTeachers, type TeacherTrial, type Tried } from '../shared/rolling/compare-teachers.ts'
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
import { type Rolling, rollTasks } from '../shared/rolling/roll-tasks.ts'
import { renderComparison } from '../shared/rolling/teacher-report.ts'

const options = z.strictObject({
  ...rollingOptions,
  ...assumedOptions,
  teachers: z.array(modelSettings).min(2),
  tasks: z.int().positive().default(100).describe('Tasks that every teacher is tried on; a seeded sample.'),
  attempts: z.int().positive().default(1).describe('Rollouts of each of these tasks by each teacher.'),
})

/** Tries teachers on the same sample of tasks and chooses one by a stated rule; all tasks pass through unchanged. */
export default definePlugin({
  name: 'rollouts/select-teacher',
  summary: 'Try teachers on the same sample of tasks and choose one; rollouts below can use the choice',
  options,
  make: ({ concurrency, budgetUsd, assume, prices, tasks, attempts, ...asked }, context): WholeStage => {
    const { timeoutMultiplier, agentMayModifySystem } = asked
    const byJudge = asked.judge && identityOfModel(asked.judge)
    const teachers = asked.teachers.map((teacher) => locatedModel(teacher, context))
    const { agent, sandbox, judge } = locatedPlugIns(asked, context)
    const who = { agent: chosen(asked.agent), sandbox: chosen(asked.sandbox) }
    return {
      kind: 'mixer',
      takes: 'task',
      identity: {
        ...{ teachers: asked.teachers.map(identityOfModel), judge: byJudge, tasks, attempts },
        ...{ ...who, timeoutMultiplier, agentMayModifySystem },
      },
      needs: () => needsOfRolling({ teachers, agent, sandbox, judge }),
      expect: (taken) => {
        const rollouts = Math.min(tasks, taken ?? tasks) * attempts * teachers.length
        return { ...expectRollouts(rollouts, concurrency, { assume, prices }), rows: taken }
      },
      async choose([input], at) {
        const view = input?.view ?? ''
        const sample = await sampleOf(view, tasks, at)
        const tried: Tried[] = []
        for (const teacher of teachers) {
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
          tried.push({ name: teacher.model, trials: await tryTeacher(sample, attempts, rolling, at) })
        }
        await conclude(compareTeachers(tried), asked.teachers, { tasks: sample.length, attempts }, at)
        await at.sql.run('DROP VIEW IF EXISTS all_tasks')
        await at.sql.run(
          `CREATE TEMP VIEW all_tasks AS SELECT 0 AS input, row, row AS position, NULL::VARCHAR AS reason, NULL::VARCHAR AS detail, NULL::VARCHAR AS signals FROM ${view}`,
        )
        return 'all_tasks'
      },
    }
  },
})

async function sampleOf(view: string, count: number, at: StageContext & { sql: SqlSession }): Promise<TaskRow[]> {
  const unique = await at.sql.rows(`SELECT min(row) AS row FROM ${view} GROUP BY digest ORDER BY row`)
  const rows = makeRandom(at.seed, 'select-teacher').sample(
    unique.map(({ row }) => Number(row)),
    count,
  )
  if (rows.length === 0)
    throw new UserError(
      'rollouts/select-teacher: expected tasks to try teachers on, got none',
      'loosen the filters above it',
    )
  const found = await at.sql.rows(`SELECT * FROM ${view} WHERE row IN (${rows.join(', ')}) ORDER BY row`)
  return found.map(({ row: _, lineage, signals, ...task }) => ({
    ...(task as unknown as TaskRow),
    lineage: readJson(String(lineage)) as TaskRow['lineage'],
    signals: readJson(String(signals)) as TaskRow['signals'],
  }))
}

async function tryTeacher(
  sample: readonly TaskRow[],
  attempts: number,
  rolling: Rolling,
  at: StageContext,
): Promise<TeacherTrial[]> {
  const rows = Array.from({ length: attempts }, (_, attempt) =>
    sample.map((task) => ({ ...task, signals: { ...task.signals, attempt } })),
  )
  const trials = new Map<PlacedTask, TeacherTrial>()
  for await (const { task, trace, scored: reward } of rollTasks(rows.flat(), rolling, at)) {
    const { digest, source } = task
    if (isDropped(trace)) {
      // A trial may have lost its conversations and still have a score.
      const nothing = { turns: null, tokens: null, costUsd: null }
      if (!trials.has(task)) trials.set(task, { task: digest, source, reward, ...nothing })
    } else if (trace.trace_source === 'main')
      trials.set(task, {
        task: digest,
        source,
        reward,
        turns: trace.turns,
        tokens: trace.input_tokens === null ? null : trace.input_tokens + (trace.output_tokens ?? 0),
        costUsd: trace.cost_usd,
      })
  }
  return [...trials.values()]
}

async function conclude(
  comparison: Comparison,
  teachers: readonly ModelSettings[],
  sample: { readonly tasks: number; readonly attempts: number },
  at: StageContext,
): Promise<void> {
  const teacher = comparison.choice === null ? undefined : teachers[comparison.choice]
  if (!teacher)
    throw new UserError(
      'rollouts/select-teacher: no teacher has a verified rollout in every source of the sample',
      'check the jobs in its work directory, or try more tasks',
    )
  const report = { schema: 'teachers/1', ...sample, ...comparison }
  await writeAtomic(join(at.workDir, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  await writeAtomic(join(at.workDir, 'report.md'), renderComparison(comparison, sample))
  await at.saveResult?.({ ...report, teacher })
  at.log(`chose ${teacher.model}; ${join(at.workDir, 'report.md')} says why`)
}
