import type { Denominators } from '../../core/job-stats.ts'
import { type LiveStats, makeLiveStats } from '../../stats/live-stats.ts'
import { type MetricMean, type MetricTally, makeMetricTally } from '../../stats/metric-means.ts'
import { evalKeyOf } from '../../stats/metrics.ts'
import { isFinished, type JobDir } from '../../store/job-dir.ts'
import { judgeSums, type Sums } from '../../store/ledger.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { type JobState, stateOf } from './find-job.ts'
import { type TrialRow, trialRowOf } from './trial-row.ts'

/** A group of trials with one agent, model and dataset. */
export interface GroupReport extends Denominators {
  readonly key: string
  /** Computed as in Harbor: a trial without a reward, or without one of several, counts as 0. */
  readonly metrics: readonly Readonly<Record<string, number>>[]
  /** The mean of every verifier metric, over the tasks that have it. */
  readonly rewardMeans: readonly Pick<MetricMean, 'name' | 'mean' | 'tasks' | 'ofTasks'>[]
  readonly passAtK: Readonly<Record<string, number>>
}

/** Everything `jobs show` knows about a job. */
export interface JobReport {
  readonly name: string
  readonly dir: string
  readonly id: string | null
  readonly state: JobState
  readonly layout: JobDir['layout']
  readonly startedAt: string | null
  readonly finishedAt: string | null
  /** Planned trials; null if the job never started. */
  readonly planned: number | null
  readonly tokens: { readonly input: number | null; readonly cache: number | null; readonly output: number | null }
  /** Cost of the agents' calls. */
  readonly costUsd: number | null
  /** The judge's usage in addition; null if no judge was asked. */
  readonly judge: Sums | null
  readonly all: Denominators
  readonly groups: readonly GroupReport[]
  readonly trials: readonly TrialRow[]
}

/** Reads every trial of a job and aggregates them. */
export async function reportJob(job: JobDir): Promise<JobReport> {
  // A Harbor job with a metric that only Python can compute can still be shown.
  const liveStats = makeLiveStats(job.config.metrics.filter(({ type }) => type !== 'uv-script'))
  const trials: TrialRow[] = []
  const means = new Map<string, MetricTally>()
  const store = await openTrialStore(job.dir, job.layout)
  for await (const records of store.batches()) {
    for (const record of records) {
      liveStats.add(record)
      const key = evalKeyOf(record)
      const tally = means.get(key) ?? makeMetricTally()
      means.set(key, tally)
      if (record.end.kind === 'scored') tally.add(record.task.name, record.end.rewards ?? {})
      trials.push(trialRowOf(record))
    }
  }
  await store.close()
  const total = job.result?.totalTrials ?? null
  const stats = liveStats.stats({ total: total ?? 0, running: 0, retries: 0, passAtK: true })
  return {
    name: job.name,
    dir: job.dir,
    id: job.own?.id ?? job.result?.id ?? null,
    state: await stateOf(job),
    layout: job.layout,
    startedAt: job.own?.startedAt ?? job.result?.startedAt ?? null,
    finishedAt: isFinished(job) ? (job.result?.finishedAt ?? null) : null,
    planned: total,
    tokens: { input: stats.inputTokens, cache: stats.cacheTokens, output: stats.outputTokens },
    costUsd: stats.costUsd,
    judge: await judgeSums(job.dir),
    all: liveStats.denominators(),
    groups: groupsOf(liveStats, means),
    trials: trials.sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function groupsOf(liveStats: LiveStats, means: ReadonlyMap<string, MetricTally>): GroupReport[] {
  const { evals } = liveStats.stats({ total: 0, running: 0, retries: 0 })
  return [...liveStats.groups()].map(([key, denominators]) => ({
    key,
    metrics: (evals.get(key)?.metrics ?? []).map((metric) => Object.fromEntries(metric)),
    rewardMeans: (means.get(key)?.means() ?? []).map(({ name, mean, tasks, ofTasks }) => ({
      name,
      mean,
      tasks,
      ofTasks,
    })),
    passAtK: Object.fromEntries(evals.get(key)?.passAtK ?? []),
    ...denominators,
  }))
}
