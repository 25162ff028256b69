import {
  asTask,
  authorOptions,
  authorTask,
  definePlugin,
  draftStage,
  filesOf,
  type MapStage,
  type RawRow,
  renderTemplate,
  type TaskDraft,
  taskRules,
  UserError,
  z,
} from 'ot-agent'

const options = z.strictObject({
  ...authorOptions,
  brief: z
    .string()
    .min(1)
    .default('{{brief}}')
    .describe('What the task is to be about: `{{field}}` is filled from the row.'),
  repairs: z.number().int().min(0).default(4),
})

/**
 * S7: a teacher writes instruction, tests and solution from a brief; they run in a sandbox and are repaired until they
 * agree, or dropped.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'teacher',
  summary: 'A model writes a task to a brief and repairs it until its own solution passes its own tests in a sandbox',
  options,
  make: (given) =>
    draftStage(given, async (row, at) => {
      if (!at.sandboxes)
        throw new UserError('teacher: expected sandboxes to try tasks out in, got none', 'name a kind of sandbox')
      const { pipeline, repairs } = given
      const prompt = `You teach agents to work in a terminal. Write a task to this brief.\n\n${taskRules}\n\nThe brief:\n${renderTemplate(given.brief, row.fields)}`
      const draft = await authorTask(
        {
          ...{ row, pipeline, strategy: 'teacher', name: `${pipeline}-${row.id}`, prompt, form: asTask, repairs },
          parts: (task) => ({ instruction: task.instruction, files: filesOf(task) }),
        },
        given,
        at,
      )
      return [draft]
    }),
})
