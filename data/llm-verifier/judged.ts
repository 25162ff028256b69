import {
  type AskingContext,
  asJson,
  authorOptions,
  authorTask,
  collectResults,
  type DraftFile,
  type Dropped,
  definePlugin,
  draftStage,
  judgeFileName,
  type MapStage,
  type RawRow,
  type RubricFile,
  renderTemplate,
  type TaskDraft,
  z,
} from 'ot-agent'

const options = z.strictObject({
  ...authorOptions,
  instruction: z
    .string()
    .min(1)
    .default('{{instruction}}')
    .describe('What the agent is told: `{{field}}` is filled from the row. Where results belong is added.'),
  maxChars: z.number().int().min(100).default(6000).describe('Rows whose instruction has more characters are dropped.'),
  passAt: z.number().min(0).max(1).default(0.75).describe('From this score of the judge on a result counts as right.'),
})
type Options = z.output<typeof options>

const judged = z.strictObject({
  results: z
    .array(z.string().regex(/^\/app\/(?!.*(?:^|\/)\.\.?(?:\/|$))[\w./-]*\w$/))
    .min(1)
    .max(10)
    .describe('files below /app that have to be handed in'),
  criteria: z
    .array(z.strictObject({ name: z.string().min(1).max(100), text: z.string().min(10).max(2000) }))
    .min(2)
    .max(12)
    .refine(areDistinct, { message: 'expected criteria with different names and texts' })
    .describe('what has to be true of them, each told apart from the others'),
  solve_sh: z.string().min(10).max(50_000).describe('a bash script that writes a good result'),
})
/** A judge scores criteria by name, and repeating a demand adds nothing. */
function areDistinct(criteria: readonly { readonly name: string; readonly text: string }[]): boolean {
  const [names, texts] = [criteria.map(({ name }) => name.trim()), criteria.map(({ text }) => text.trim())]
  return new Set(names).size === criteria.length && new Set(texts).size === criteria.length
}

const asJudged = asJson(judged, 'judged_task')

/**
 * V3: work that no program can judge. Tests collect the results; a model judges them by criteria, outside the sandbox.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'judged',
  summary: 'Tasks whose results a model judges by criteria, outside of the sandbox',
  options,
  make: (given) => draftStage(given, async (row, at) => [await makeDraft(row, given, at)]),
})

async function makeDraft(row: RawRow, given: Options, at: AskingContext): Promise<TaskDraft | Dropped> {
  const asked = renderTemplate(given.instruction, row.fields).trim()
  if (asked.length > given.maxChars) return { drop: 'too-long', detail: `${asked.length} characters`, id: row.id }
  const { pipeline, repairs } = given
  return authorTask(
    {
      ...{ row, pipeline, strategy: 'llm-judge', name: `${pipeline}-${row.id}`, repairs },
      ...{ prompt: criteriaPrompt(asked), form: asJudged },
      parts: ({ results, criteria, solve_sh }) => ({
        instruction: `${asked}\n\nHand in ${results.map((path) => `\`${path}\``).join(', ')}. Nothing else is looked at.\n`,
        files: {
          'tests/test.sh': { data: collectResults(results) },
          [`tests/${judgeFileName}`]: rubricFile(criteria, given.passAt),
          'solution/solve.sh': { data: solve_sh.startsWith('#!') ? solve_sh : `#!/bin/bash\n${solve_sh}\n` },
        },
      }),
    },
    given,
    // Without a judge in the sandbox nothing can be proven here; the check of finished tasks has one.
    { ...at, sandboxes: undefined },
  )
}

function rubricFile(criteria: z.output<typeof judged>['criteria'], passAt: number): DraftFile {
  const rubric: RubricFile = { schema: 'judge/1', criteria, passAt }
  return { data: `${JSON.stringify(rubric, null, 2)}\n` }
}

function criteriaPrompt(instruction: string): string {
  return `Somebody asks for the work below. No program can tell whether it is well done, so that a judge will, by criteria that you write. The judge sees only the files that are handed in.

- Say which files below /app have to be handed in: as few as possible, all of them text.
- Write criteria that two judges would agree about: each about one thing, each to be seen in the files, all of them following from what was asked for. None is met by an empty or careless result.
- Write a script that makes a result which meets all of them. No network.

<work>
${instruction}
</work>`
}
