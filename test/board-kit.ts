import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AblationReport } from '../src/app/ablate/report.ts'
import { ingest } from '../src/app/registry/ingest.ts'
import { makeJob, trialOf } from './registry/jobs.ts'
import { hostile } from './view-kit.ts'

const tasks = Array.from({ length: 24 }, (_, i) => `task-${String(i).padStart(2, '0')}`)

interface Run {
  readonly job: string
  readonly model: string
  readonly benchmark: string
  /** Out of 24 tasks. */
  readonly solved: number
  readonly costUsd?: number
  readonly planned?: number
}

/**
 * The leaderboard's models: three that differ, two that are indistinguishable, one partial, one with a hostile name.
 */
export const boardRuns: readonly Run[] = [
  { job: 'big-a', model: 'lab/agent-32B', benchmark: 'bench-a', solved: 22, costUsd: 0.4 },
  { job: 'big-b', model: 'lab/agent-32B', benchmark: 'bench-b', solved: 15, costUsd: 0.5 },
  { job: 'mid-a', model: 'lab/agent-8B', benchmark: 'bench-a', solved: 12, costUsd: 0.12 },
  { job: 'mid-b', model: 'lab/agent-8B', benchmark: 'bench-b', solved: 14, costUsd: 0.11 },
  { job: 'other-a', model: 'lab/other-8B', benchmark: 'bench-a', solved: 11, costUsd: 0.09 },
  { job: 'small-a', model: 'lab/agent-0.6B', benchmark: 'bench-a', solved: 2, costUsd: 0.02 },
  { job: 'cut-a', model: 'lab/unfinished-4B', benchmark: 'bench-a', solved: 20, planned: 100 },
  { job: 'evil-a', model: `evil/${hostile.script} \u202ename ${'long'.repeat(40)}`, benchmark: 'bench-a', solved: 1 },
]

/** Writes jobs and training runs below a directory and ingests them into a registry. */
export async function makeBoard(dir: string) {
  const registry = join(dir, 'registry.db')
  const jobs = join(dir, 'jobs')
  for (const [i, { job, model, benchmark, solved, costUsd, planned }] of boardRuns.entries()) {
    const usage = { inputTokens: 9000, cacheTokens: 0, outputTokens: 700, costUsd: costUsd ?? null }
    const records = tasks.map((task, nth) =>
      trialOf({
        ...{ task, benchmark, model: `hosted_vllm/${model}` },
        reward: nth < solved ? 1 : 0,
        over: { usage },
      }),
    )
    const startedAt = `2026-11-1${i % 6}T00:00:00.000000Z`
    await makeJob(join(jobs, job), { id: jobId(i), records, planned: planned ?? records.length, startedAt })
  }
  const summaries = [
    { model_name: 'lab/agent-32B', base_model_name: 'base/raw-32B', dataset_names: ['lab/traces-10k'] },
    { model_name: 'lab/agent-8B', base_model_name: 'base/raw-8B', dataset_names: ['lab/traces-10k'] },
    { model_name: 'lab/agent-0.6B', base_model_name: 'base/raw-0.6B', dataset_names: ['lab/traces-10k'] },
    { model_name: 'lab/other-8B', base_model_name: 'base/raw-8B', dataset_names: ['lab/traces-1k', hostile.script] },
  ].map((summary, i) => {
    const folder = join(dir, 'training', String(i))
    mkdirSync(folder, { recursive: true })
    const rest = {
      ...{ agent_name: 'terminus-2', training_type: 'SFT', training_parameters: { learning_rate: 1e-5, epochs: 3 } },
      ...{ training_start: '2026-11-01T00:00:00Z', training_end: '2026-11-01T08:00:00Z', exit_status: 0 },
    }
    writeFileSync(join(folder, 'run_summary.json'), JSON.stringify({ ...summary, ...rest, created_by: 'a user' }))
    return folder
  })
  await ingest({ registry, from: [...summaries, jobs] })
  const report = join(dir, 'report.json')
  writeFileSync(report, JSON.stringify(ablation))
  return { registry, jobs, report }
}

function jobId(i: number): string {
  return `6856a1de-0000-4000-8000-0000000000${String(i + 10)}`
}

const score = { standardError: 0.02, effectiveTrials: 50, tasks: 24, trials: 48 }
const difference = { ...score, mean: 0.21, low: 0.1, high: 0.32 }

const ablation: AblationReport = {
  ...{ schema: 'ablate-report/1', name: 'sources', summary: 'Which sources make better traces.', scale: 'share' },
  ...{ measure: 'reward of the trials of student', baseline: 'plain', seeds: 2, tests: 1 },
  rows: [
    {
      ...{ variant: 'plain', summary: null, factors: {}, cells: { done: 2, of: 2 }, values: {}, reasons: [] },
      ...{ score: { ...score, mean: 0.4, low: 0.31, high: 0.5 }, comparison: null },
    },
    {
      ...{ variant: `more ${hostile.script}`, summary: 'twice the tasks', factors: { size: '8B' }, values: {} },
      ...{
        cells: { done: 1, of: 2 },
        reasons: ['a seed is missing'],
        score: { ...score, mean: 0.61, low: 0.5, high: 0.7 },
      },
      comparison: { difference, adjustedP: 0.003, verdict: 'better', p: 0.003, exact: false, seeds: [] },
    } as unknown as AblationReport['rows'][number],
  ],
  missing: [{ cell: 'more, seed 2', reason: 'not run yet' }],
}
