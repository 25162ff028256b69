import type { RawRow, TaskDraft } from '../../../core/row.ts'
import type { Dropped } from '../../../core/stage.ts'
import { isDropped } from '../../../core/stage.ts'
import { canonicalJson, rowDigest } from '../../../lib/digest-json.ts'
import { type Answer, ask, lineageOf, type Question } from '../asking/ask.ts'
import type { AskingContext, AskOptions } from '../asking/mapping.ts'
import { proveDraft } from './prove-draft.ts'
import { reviewDraft } from './review-draft.ts'

/** Something that a model writes, and how it becomes a task. */
export interface Authoring<T> {
  readonly row: RawRow
  readonly pipeline: string
  readonly strategy: string
  /** Unique among the pipeline's tasks. */
  readonly name: string
  readonly prompt: string
  readonly form: NonNullable<Question<T>['form']>
  /** The parts of the draft that were written. */
  readonly parts: (written: T) => Pick<TaskDraft, 'instruction' | 'files' | 'config'>
  /** Answers that led to this prompt. */
  readonly before?: readonly Answer<unknown>[]
  /** How often a draft that fails in the sandbox goes back to its author. */
  readonly repairs: number
}

/**
 * Lets a model write a task, runs it in a sandbox, and returns failures to the model a few times; a task that is still
 * wrong is dropped. Without sandboxes nothing runs here, and only the check of finished tasks decides.
 */
export async function authorTask<T>(
  authoring: Authoring<T>,
  asking: Pick<AskOptions, 'system' | 'temperature' | 'maxOutputTokens' | 'tries'>,
  at: AskingContext,
): Promise<TaskDraft | Dropped> {
  const { row, form, repairs, before = [] } = authoring
  const { system, temperature, maxOutputTokens, tries } = asking
  let prompt = authoring.prompt
  let first: Answer<T> | null = null
  let problem = ''
  const tried = new Set<string>()
  for (let round = 0; round <= repairs; round++) {
    const answer: Answer<T> | Dropped = await ask(
      { prompt, form, system, temperature, maxOutputTokens, tries, id: row.id },
      at,
    )
    if (isDropped(answer)) return answer
    first ??= answer
    // A repeated attempt would fail again in the same way, and the same question has the same reply.
    const written = canonicalJson(answer.value)
    if (tried.has(written)) return notProven(`The repair is what was tried before. ${problem}`, row.id)
    tried.add(written)
    const draft = draftOf(authoring, answer.value, { ...lineageOf(...before, first) }, at.seed)
    const found =
      reviewDraft(draft) ?? (at.sandboxes ? await proveDraft(draft, { ...at, sandboxes: at.sandboxes }) : null)
    if (found === null) return draft
    problem = found
    prompt = repairPrompt(authoring.prompt, answer.value, problem)
  }
  return notProven(problem, row.id)
}

const detailChars = 1000

function notProven(problem: string, id: string): Dropped {
  return { drop: 'not-proven', detail: problem.slice(0, detailChars), id }
}

function draftOf<T>(
  { row, pipeline, strategy, name, parts }: Authoring<T>,
  written: T,
  helped: Pick<TaskDraft['lineage'], 'promptDigest' | 'model'>,
  seed: number,
): TaskDraft {
  const lineage = { pipeline, strategy, rowId: row.id, rowDigest: rowDigest(row), seed, ...helped }
  return { name, ...parts(written), lineage }
}

function repairPrompt(prompt: string, written: unknown, problem: string): string {
  return `${prompt.trimEnd()}

You wrote this before:
${JSON.stringify(written)}

It was tried out. ${problem}

Write all of it again, with that repaired. Repair the cause: never make the tests accept less than what the instruction asks for.`
}
