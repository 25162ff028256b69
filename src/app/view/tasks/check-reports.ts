import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import { readTextIfExists } from '../../../lib/files.ts'
import { parseJson } from '../../../lib/parse-json.ts'

const texts = z.array(z.string())
const report = z.object({
  task: z.string(),
  digest: z.string().nullable(),
  verdict: z.enum(['accepted', 'rejected', 'unknown']),
  checks: z.array(
    z.object({ name: z.string(), outcome: z.string(), reasons: texts, evidence: texts.optional().default([]) }),
  ),
  findings: z.array(z.object({ lint: z.string(), severity: z.string(), path: z.string(), message: z.string() })),
  notes: texts,
})
const file = z.object({ schema: z.literal('tasks-check/1'), tasks: z.array(report) })

/** What `tasks check` found out about a task. */
export type CheckReport = Readonly<z.output<typeof report>>

/** The report in a folder of tasks that is read by default. */
export const usualReport = 'check.json'

/** Adds the reports in a file printed by `tasks check --json`, by task name; false if it is some other file. */
export async function addReports(path: string, reports: Map<string, CheckReport>): Promise<boolean> {
  const document = parseJson((await readTextIfExists(path)) ?? '')
  if (Object(document).schema !== 'tasks-check/1') return false
  const parsed = file.safeParse(document)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new UserError(
      `${path}: expected a report of tasks check: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not valid'}`,
      'ot-agent tasks check TASKS --json > check.json writes one',
    )
  }
  for (const each of parsed.data.tasks) reports.set(each.task, each)
  return true
}

/** The first check that fails, and why; rejections come before undecided ones. */
export function failingLaw({ checks }: CheckReport): { readonly law: string; readonly reason: string } | null {
  const bad =
    checks.find(({ outcome }) => outcome === 'fail') ?? checks.find(({ outcome }) => outcome === 'unknown') ?? null
  return bad && { law: bad.name, reason: bad.reasons[0] ?? 'no reason was recorded' }
}
