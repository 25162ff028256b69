// A rollout: tasks in, traces out. `rollTasks` runs a trial of each task in a job that resumes after a crash.
import { definePlugin, type MapStage, type RecipeTrace, rollTasks, type TaskRow, z } from 'ot-agent'

export default definePlugin({
  name: 'roll-once',
  summary: 'Runs one trial of each task and keeps its trace',
  options: z.strictObject({
    model: z.string().describe('The model that works on the tasks'),
    engine: z.string().describe('The file of its engine'),
    sandbox: z.string().default('local').describe('The kind of sandbox'),
  }),
  make: ({ model, engine, sandbox }, { resolvePath = (given) => given }): MapStage<TaskRow, RecipeTrace> => ({
    kind: 'map',
    takes: 'task',
    gives: 'trace',
    // Its rows are kept on disk before the next stage sees them.
    expensive: true,
    async *run(rows, at) {
      const teacher = { model, engine: resolvePath(engine) }
      const rolling = { teacher, agent: { name: 'terminus-2' }, sandbox: { name: sandbox }, concurrency: 2 }
      for await (const { trace } of rollTasks(rows, rolling, at)) yield trace
    },
  }),
})
