import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import type { ViewAblation } from '../../core/view-board.ts'
import { readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'

const score = z.object({ mean: z.number(), low: z.number(), high: z.number(), tasks: z.number(), trials: z.number() })
const report = z.object({
  schema: z.literal('ablate-report/1'),
  name: z.string(),
  summary: z.string().nullable(),
  scale: z.enum(['share', 'number']),
  measure: z.string(),
  baseline: z.string(),
  seeds: z.number(),
  rows: z.array(
    z.object({
      variant: z.string(),
      summary: z.string().nullable(),
      factors: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
      cells: z.object({ done: z.number(), of: z.number() }),
      score: score.nullable(),
      reasons: z.array(z.string()),
      comparison: z
        .object({
          difference: score,
          adjustedP: z.number(),
          verdict: z.enum(['better', 'worse', 'undecided']),
        })
        .nullable(),
    }),
  ),
  missing: z.array(z.object({ cell: z.string(), reason: z.string() })),
})

/** Whether a document is a report from `ablate report`. */
export function isAblation(document: unknown): boolean {
  return Object(document).schema === 'ablate-report/1'
}

/** Loads the report.json written by `ablate report`. */
export async function loadAblation(path: string): Promise<ViewAblation> {
  const parsed = report.safeParse(parseJson((await readTextIfExists(path)) ?? ''))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(
    `${path}: expected a report of ablate: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`,
    'ot-agent ablate report writes report.json next to the cells',
  )
}
