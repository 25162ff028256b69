import {
  type AskingContext,
  asJson,
  authorOptions,
  authorTask,
  type DraftFile,
  type Dropped,
  definePlugin,
  draftStage,
  type MapStage,
  MissingField,
  type RawRow,
  type TaskDraft,
  testRules,
  z,
} from 'ot-agent'
import { replayScript, taskIn } from './replay.ts'

const options = z.strictObject({
  ...authorOptions,
  /** Field with the instruction; without it, the instruction comes from the first turn of the conversation. */
  instruction: z.string().min(1).default('instruction'),
  /** Field with the conversation of an agent that solved the task. */
  conversations: z.string().min(1).default('conversations'),
  /** Field with a script that solves the task; takes precedence over the conversation. */
  solution: z.string().min(1).default('solution'),
  /** Field with the trace's reward; if present, only traces with more than 0 prove anything. */
  result: z.string().min(1).default('result'),
  /** Field with the Dockerfile. */
  dockerfile: z.string().min(1).default('dockerfile'),
  /** Field with files of the environment by name. */
  files: z.string().min(1).default('files'),
})
type Options = z.output<typeof options>

const asTests = asJson(z.strictObject({ test_sh: z.string().min(10).max(50_000) }), 'tests')

/** V4: a task without tests, and a trace of an agent on it: a model writes the tests, and the trace proves them. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'trace-tests',
  summary: 'A model writes tests for a task from what an agent did; replaying the trace proves them',
  options,
  make: (given) => draftStage(given, async (row, at) => [await makeDraft(row, given, at)]),
})

async function makeDraft(row: RawRow, given: Options, at: AskingContext): Promise<TaskDraft | Dropped> {
  const { fields, id } = row
  const named = fields[given.instruction]
  const instruction = typeof named === 'string' && named.trim() !== '' ? named : taskIn(fields[given.conversations])
  if (instruction === null) throw new MissingField(given.instruction)
  const result = fields[given.result] ?? null
  if (result !== null && !(Number(result) > 0))
    return { drop: 'trace-not-solved', detail: `its result is ${String(result).slice(0, 100)}`, id }
  const written = fields[given.solution]
  const replay =
    typeof written === 'string' && written !== '' ? { script: written } : replayScript(fields[given.conversations])
  if ('problem' in replay) return { drop: 'no-solution', detail: replay.problem, id }
  const { script: solution } = replay
  const environment = environmentFiles(fields[given.dockerfile], fields[given.files])
  if (Object.keys(environment).length === 0)
    return { drop: 'no-environment', detail: 'the row does not say what the task started from', id }
  const { pipeline, repairs } = given
  return authorTask(
    {
      ...{ row, pipeline, strategy: 'trace-to-tests', name: `${pipeline}-${id}`, repairs },
      ...{ prompt: testPrompt(instruction, solution, environment), form: asTests },
      parts: ({ test_sh }) => ({
        instruction,
        files: { ...environment, 'tests/test.sh': script(test_sh), 'solution/solve.sh': script(solution) },
      }),
    },
    given,
    at,
  )
}

function environmentFiles(dockerfile: unknown, files: unknown): Readonly<Record<string, DraftFile>> {
  const texts = typeof files === 'object' && files !== null ? Object.entries(files) : []
  const given = texts.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return {
    ...(typeof dockerfile === 'string' && { 'environment/Dockerfile': { data: dockerfile } }),
    ...Object.fromEntries(given.map(([path, data]) => [`environment/${path}`, { data }])),
  }
}

function script(text: string): DraftFile {
  const plain = text.replaceAll('\r\n', '\n').trimEnd()
  return { data: plain.startsWith('#!') ? `${plain}\n` : `#!/bin/bash\n${plain}\n` }
}

function testPrompt(instruction: string, solution: string, environment: Readonly<Record<string, DraftFile>>): string {
  const files = Object.entries(environment).map(
    ([path, { data }]) => `<file path="${path}">\n${String(data).slice(0, 4000)}\n</file>`,
  )
  return `Write the tests of a task that has none. What one agent did to solve it is known.

${testRules}
- Test what the instruction asks for, through the ways in that it names. What the agent did shows that it can be done, and what the results look like; how it did it is not to be tested.
- Look at corner cases that follow from the instruction, and at whether what must not change is unchanged.

<instruction>
${instruction}
</instruction>
${files.length === 0 ? '' : `\nThe environment:\n${files.join('\n')}\n`}
What the agent did:
<solution>
${solution.slice(0, 12_000)}
</solution>`
}
