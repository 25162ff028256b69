import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import type { Need } from '../../../core/stage.ts'
import { exists } from '../../../lib/files.ts'
import { readJsonLines } from '../../../lib/jsonl.ts'

const lineSchema = z.object({ instruction: z.string().min(1) })

/** The instructions of a JSONL file of examples, for filters that learn from them. */
export async function loadExamples(file: string): Promise<readonly string[]> {
  if (!(await exists(file)))
    throw new UserError(
      `expected examples at ${file}, found no such file`,
      'each line is JSON with the text `instruction`',
    )
  const texts: string[] = []
  for await (const line of readJsonLines(file)) {
    const parsed = lineSchema.safeParse(line)
    if (!parsed.success)
      throw new UserError(
        `${file}: line ${texts.length + 1} has no instruction`,
        'each line is JSON with the text `instruction`',
      )
    texts.push(parsed.data.instruction)
  }
  if (texts.length === 0) throw new UserError(`${file} holds no examples`, 'one line of JSON for each')
  return texts
}

/** The files of examples that a filter learns from. */
export function needsOfExamples(files: readonly string[]): readonly Need[] {
  const provide = 'write it: each line is JSON with the text `instruction`'
  return files.map((path) => ({ kind: 'file', path, what: 'examples to learn from', provide }))
}
