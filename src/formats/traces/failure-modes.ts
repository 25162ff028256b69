import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { codeOf } from '../../lib/files.ts'
import { readLines } from '../../lib/lines.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { wellFormed } from './clean.ts'
import type { TraceRow } from './row.ts'

type Modes = NonNullable<TraceRow['failure_modes']>

/** Why trials failed, to be joined with the rows of their traces. */
export interface FailureModes {
  columnOf(row: Pick<TraceRow, 'job' | 'trial_name'>): { readonly failure_modes: Modes }
  /** Throws if none of the labels matched a row. */
  checkUsed(): void
}

const lineSchema = z.object({
  job: z.string(),
  trial: z.string(),
  labels: z.array(z.object({ mode: z.string(), quote: z.string() })),
  judge: z.string().optional(),
})

const hint = 'ot-agent jobs report JOB --labels FILE writes one'

/** Reads a file from `jobs report --labels`. A model's labels come after those from rules. */
export async function readFailureModes(path: string): Promise<FailureModes> {
  const byTrial = await readAll(path)
  let used = 0
  return {
    columnOf(row) {
      const found = byTrial.get(keyOf(row.job, row.trial_name))
      if (found) used++
      return { failure_modes: found ?? [] }
    },
    checkUsed() {
      if (byTrial.size > 0 && used === 0)
        throw new UserError(`${path}: expected labels of the exported trials, got those of other trials`, hint)
    },
  }
}

async function readAll(path: string): Promise<Map<string, Modes>> {
  const byTrial = new Map<string, Modes>()
  let number = 0
  try {
    for await (const { text } of readLines(path)) {
      number++
      if (text.trim() === '') continue
      const line = lineSchema.safeParse(parseJson(text))
      if (!line.success) throw new UserError(`${path}: line ${number}: expected labels of a trial`, hint)
      const { job, trial, labels, judge: by = 'rules' } = line.data
      const key = keyOf(job, trial)
      const modes = labels.map(({ mode, quote }) => wellFormed({ mode, quote, by }))
      byTrial.set(key, [...(byTrial.get(key) ?? []), ...modes])
    }
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    throw new UserError(`${path}: expected a file of labels, got ${codeOf(error)}`, hint)
  }
  return byTrial
}

function keyOf(job: string, trial: string): string {
  return `${job}\0${trial}`
}
