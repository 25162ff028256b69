import {
  type AskingContext,
  ask,
  asTask,
  asYesNo,
  authorOptions,
  authorTask,
  type Dropped,
  definePlugin,
  draftStage,
  filesOf,
  isDropped,
  type MapStage,
  type RawRow,
  renderTemplate,
  type TaskDraft,
  taskRules,
  z,
} from 'ot-agent'
import { shellLikeness } from './shell-likeness.ts'

const options = z.strictObject({
  ...authorOptions,
  text: z.string().min(1).default('{{text}}').describe('The document: `{{field}}` is filled from the row.'),
  minLikeness: z
    .number()
    .min(0)
    .default(8)
    .describe('Documents that look less like the shell are dropped before anybody is asked; 0 asks about all.'),
  minChars: z.number().int().min(0).default(200),
  maxChars: z.number().int().min(200).default(12_000).describe('Longer documents are cut.'),
})
type Options = z.output<typeof options>

/**
 * S5: each document gets a cheap score, then a yes-or-no question, then the extraction of a task; most drop out early.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'mine',
  summary: 'Mine documents for tasks: a score, a classifier, then a model that writes the task out',
  options,
  make: (given) => draftStage(given, async (row, at) => [await makeDraft(row, given, at)]),
})

async function makeDraft(row: RawRow, given: Options, at: AskingContext): Promise<TaskDraft | Dropped> {
  const { id } = row
  const whole = renderTemplate(given.text, row.fields)
  if (whole.trim().length < given.minChars) return { drop: 'too-short', detail: `${whole.length} characters`, id }
  const likeness = shellLikeness(whole)
  if (likeness < given.minLikeness)
    return { drop: 'not-about-the-shell', detail: `${likeness} points, expected ${given.minLikeness}`, id }
  const text = whole.slice(0, given.maxChars)
  const { system, tries, pipeline, repairs } = given
  const found = await ask({ prompt: classifyPrompt(text), form: asYesNo, system, tries, id }, at)
  if (isDropped(found)) return found
  if (!found.value) return { drop: 'no-task-in-it', id }
  return authorTask(
    {
      ...{ row, pipeline, strategy: 'corpus-mining', name: `${pipeline}-${id}`, repairs },
      ...{ prompt: extractPrompt(text), form: asTask, before: [found] },
      parts: (task) => ({ instruction: task.instruction, files: filesOf(task) }),
    },
    given,
    at,
  )
}

function classifyPrompt(text: string): string {
  return `Does this document hold a problem that can be solved in a terminal, together with its solution?

Say YES only if all of this is true:
- it can run in a container with usual tools, without network, accounts, hardware or a graphical desktop;
- every file or datum that it speaks of is in the document, or something like it can easily be made up;
- whether it was solved can be told by a program.

<document>
${text}
</document>`
}

function extractPrompt(text: string): string {
  return `Take the problem out of this document and write it out as a task that can be given to an agent and judged by a program. Keep what makes it interesting; make up the data it needs. The document itself is not given to the agent.

${taskRules}

<document>
${text}
</document>`
}
