import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { pushTo } from '../../stats/metric-means.ts'
import { loadJobDir } from '../../store/job-dir.ts'
import { selectAllRows } from '../../store/rows/shard-sql.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { scoreJob } from '../eval/score-job.ts'
import type { CellResult } from './result.ts'
import type { Outcome } from './study.ts'

/** Measures the rows a recipe made: those of a stage, or the trials of a rollout stage. */
export async function measureRows(
  outcome: Outcome,
  {
    stage,
    steps,
    dataDir,
  }: { readonly stage: string; readonly steps: readonly StepOutput[]; readonly dataDir: string },
): Promise<CellResult> {
  const step = steps.find(({ manifest }) => manifest.id === stage)
  if (!step)
    throw new UserError(
      `outcome: expected a stage whose rows are kept, got ${stage}`,
      `the run keeps the rows of ${steps.map(({ manifest }) => manifest.id).join(', ')}`,
    )
  if (step.manifest.kind !== 'trace')
    throw new UserError(
      `outcome: expected a stage with traces, got ${stage}, whose rows are ${step.manifest.kind}`,
      'choose a later stage',
    )
  await using sql = await SqlDatabase.open({ memoryMb: 500, threads: 2, tempDir: join(dataDir, 'tmp') })
  if (outcome.teacher !== undefined) return measureTrials(await jobsOf(sql, step), join(dataDir, 'work', stage, 'jobs'))
  const column = outcome.rows?.measure ?? 'reward'
  const tasks = new Map<string, number[]>()
  // A trial may have several rows, of subagents for example, and in two shards: it counts once.
  const query = `SELECT any_value(source) AS source, any_value(task) AS task, max(${column})::DOUBLE AS value FROM (${selectAllRows(step.shards)}) GROUP BY job, trial_name ORDER BY job, trial_name`
  const found = step.shards.length === 0 ? [] : await sql.rows(query)
  for (const { source, task, value } of found)
    if (value !== null) pushTo(tasks, `${source ?? ''}/${task}`, Number(value))
  if (tasks.size === 0)
    throw new UserError(
      `outcome: expected rows of stage ${stage} with ${column}, found none`,
      'ot-agent recipe explain shows what was dropped',
    )
  return { tasks, values: countsOf(step), reasons: [] }
}

async function jobsOf(sql: SqlDatabase, step: StepOutput): Promise<string[]> {
  if (step.shards.length === 0) return []
  const found = await sql.rows(`SELECT DISTINCT job FROM (${selectAllRows(step.shards)})`)
  return found.map(({ job }) => String(job)).sort()
}

/** Every trial counts, even without a trace; an infrastructure failure is not a reward of 0. */
async function measureTrials(jobs: readonly string[], dir: string): Promise<CellResult> {
  const tasks = new Map<string, number[]>()
  const values = { trials: 0, failed: 0 }
  const reasons: string[] = []
  for (const job of jobs) {
    const { runs } = await scoreJob(await loadJobDir(join(dir, job)))
    for (const { tasks: scores, trials, reasons: why } of runs) {
      values.trials += trials.trials
      values.failed += trials.failed
      reasons.push(...why)
      for (const { task, checksum, rewards } of scores) {
        if (rewards.length === 0) continue
        // Copies of a task are in numbered folders; they are attempts at the same task.
        const key = `${task.replace(/\.\d+$/, '')}@${checksum.slice(0, 12)}`
        tasks.set(key, [...(tasks.get(key) ?? []), ...rewards])
      }
    }
  }
  if (tasks.size === 0)
    throw new UserError('outcome: expected scored trials of the teacher, found none', 'its jobs show the reason')
  return { tasks, values, reasons }
}

function countsOf({ manifest }: StepOutput): Readonly<Record<string, number>> {
  const dropped = manifest.counts.reduce((sum, { drops }) => sum + Object.values(drops).reduce((a, b) => a + b, 0), 0)
  return { rows: manifest.rows, dropped }
}
