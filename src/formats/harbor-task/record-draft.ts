import { parse } from 'smol-toml'
import { messageOf, UserError } from '../../core/errors.ts'
import type { TaskDraft } from '../../core/row.ts'

/** A task as a record of texts: the instruction, and whatever of the other six there is. */
export interface TaskRecord {
  readonly instruction: string
  /** Kept beside the task as metadata.json. */
  readonly metadata?: unknown
  /** solution/solve.sh. */
  readonly solution?: string
  /** tests/test.sh. */
  readonly testSh?: string
  /** tests/test_state.py. */
  readonly testPy?: string
  /** Laid over the default task.toml. */
  readonly taskToml?: string
  /** environment/Dockerfile. */
  readonly dockerfile?: string
}

type NewDraft = Omit<TaskDraft, 'name' | 'lineage'> & { readonly name?: string }

/** A draft with every part of a record in its place. */
export function draftFromRecord(record: TaskRecord, name?: string): NewDraft {
  const { instruction, metadata, solution, testSh, testPy, taskToml, dockerfile } = record
  const files = {
    ...(metadata !== undefined && { 'metadata.json': { data: `${JSON.stringify(metadata, null, 2)}\n` } }),
    ...(solution !== undefined && { 'solution/solve.sh': { data: solution, executable: true } }),
    ...(testSh !== undefined && { 'tests/test.sh': { data: testSh, executable: true } }),
    ...(testPy !== undefined && { 'tests/test_state.py': { data: testPy } }),
    ...(dockerfile !== undefined && { 'environment/Dockerfile': { data: dockerfile } }),
  }
  const config = taskToml === undefined ? {} : { config: parseConfig(taskToml) }
  return { instruction, files, ...config, ...(name !== undefined && { name }) }
}

/** Drafts of questions alone, named by a prefix and a number; what they are checked by comes from the pipeline. */
export function draftsFromQuestions(questions: readonly string[], prefix: string): NewDraft[] {
  return questions.map((instruction, i) => draftFromRecord({ instruction }, `${prefix}-${String(i).padStart(4, '0')}`))
}

function parseConfig(text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text)
  } catch (error) {
    const [reason] = messageOf(error).split('\n')
    throw new UserError(`taskToml: expected TOML, got ${reason}`, 'correct it, or leave it out')
  }
}
