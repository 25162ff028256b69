import { renderJudge } from '../../app/job/judge.ts'
import type { Denominators } from '../../core/job-stats.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { toLocalNaive } from '../../lib/time.ts'
import { oneLine } from '../../lib/visible.ts'
import { evalKeyOf } from '../../stats/eval-key.ts'
import { type LiveStats, makeLiveStats } from '../../stats/live-stats.ts'
import { type MetricMean, type MetricTally, makeMetricTally } from '../../stats/metric-means.ts'
import { isFinished, type JobDir } from '../../store/job-dir.ts'
import { judgeSums, type Sums } from '../../store/ledger.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { printTable } from '../output.ts'
import { renderNoValidReply, renderPassAtK } from '../progress/render.ts'
import { type JobState, stateOf } from './find-job.ts'
import { describeEnd, describeRewards, type TrialRow, trialRowOf } from './trial-row.ts'

/** A group of trials with one agent, model and dataset. */
export interface GroupReport extends Denominators {
  readonly key: string
  /** As Harbor counts them: a trial without a reward, or without one of several, counts as 0. */
  readonly metrics: readonly Readonly<Record<string, number>>[]
  /** Every number that verifiers gave, over the tasks that have it. */
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
  /** Planned trials; null when the job never began. */
  readonly planned: number | null
  readonly tokens: { readonly input: number | null; readonly cache: number | null; readonly output: number | null }
  /** Of the agents. */
  readonly costUsd: number | null
  /** What judges asked for beside that; null when none was asked. */
  readonly judge: Sums | null
  readonly all: Denominators
  readonly groups: readonly GroupReport[]
  readonly trials: readonly TrialRow[]
}

/** Reads every trial of a job and adds them up. */
export async function reportJob(job: JobDir): Promise<JobReport> {
  // A metric that only Python can compute must not keep a Harbor job from being shown.
  const liveStats = makeLiveStats(job.config.metrics.filter(({ type }) => type !== 'uv-script'))
  const trials: TrialRow[] = []
  const means = new Map<string, MetricTally>()
  const store = await openTrialStore(job.dir, job.layout)
  for await (const record of store.records()) {
    liveStats.add(record)
    const tally = means.get(evalKeyOf(record)) ?? makeMetricTally()
    means.set(evalKeyOf(record), tally)
    if (record.end.kind === 'scored') tally.add(record.task.name, record.end.rewards ?? {})
    trials.push(trialRowOf(record))
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

/** The report for a person: the job, its groups, its trials, and what must be known about them. */
export function printReport(report: JobReport): void {
  process.stdout.write(`${headOf(report).map(oneLine).join('\n')}\n`)
  if (report.trials.length === 0) return
  process.stdout.write('\n')
  const header = [
    'group',
    'trials',
    'scored',
    'failed',
    'cancelled',
    'mean of scored',
    'mean of all',
    'metrics',
    'pass@k',
  ]
  printTable(header, report.groups.map(groupCells))
  process.stdout.write('\n')
  printTable(['trial', 'end', 'reward', 'blame', 'took', 'retries', 'isolation'], report.trials.map(trialCells))
  const counts = new Map<string, number>()
  for (const text of report.trials.flatMap(({ notes }) => notes)) counts.set(text, (counts.get(text) ?? 0) + 1)
  for (const [text, count] of counts) {
    process.stdout.write(`note: ${oneLine(text)} (${count} of ${report.trials.length} trials)\n`)
  }
}

function headOf(report: JobReport): string[] {
  const { name, state, dir, planned, trials, startedAt, finishedAt, tokens, costUsd, judge } = report
  const local = (utc: string) => toLocalNaive(utc).slice(0, 19).replace('T', ' ')
  const spent = [tokens.input, tokens.output].every((count) => count === null)
    ? []
    : [
        `tokens: ${renderCount(tokens.input ?? 0)} in, ${renderCount(tokens.output ?? 0)} out${costUsd === null ? '' : `, $${costUsd.toFixed(2)}`}`,
      ]
  return [
    `${name}: ${state}, ${trials.length} of ${planned ?? '?'} trials ended`,
    dir,
    `started ${startedAt === null ? '-' : local(startedAt)}${finishedAt === null ? '' : `, finished ${local(finishedAt)}`}`,
    ...spent,
    ...(judge ? [renderJudge(judge)] : []),
    ...[renderNoValidReply(report.all)].filter((line) => line !== null),
  ]
}

function groupCells(group: GroupReport): string[] {
  const failures = Object.entries(group.failedByBoundary).map(([boundary, count]) => `${boundary} ${count}`)
  const numbers = (values: Readonly<Record<string, number>>) =>
    Object.entries(values).map(([key, value]) => `${key} ${value.toFixed(3)}`)
  const several =
    group.rewardMeans.length < 2
      ? []
      : group.rewardMeans.map(
          ({ name, mean, tasks, ofTasks }) =>
            `${name} ${mean.toFixed(3)}${tasks < ofTasks ? ` (${tasks} of ${ofTasks} tasks)` : ''}`,
        )
  return [
    group.key,
    String(group.trials),
    String(group.scored),
    group.failed === 0 ? '0' : `${group.failed} (${failures.join(', ')})`,
    String(group.cancelled),
    group.meanOverScored?.toFixed(3) ?? '-',
    group.meanOverAll?.toFixed(3) ?? '-',
    (several.length > 0 ? several : group.metrics.flatMap(numbers)).join(', ') || '-',
    renderPassAtK(Object.entries(group.passAtK).map(([k, value]) => [Number(k), value])),
  ]
}

function trialCells(row: TrialRow): string[] {
  return [
    row.name,
    describeEnd(row),
    describeRewards(row.rewards),
    row.boundary === null ? '-' : `${row.boundary}: ${row.code}`,
    renderDuration(row.durationSec),
    String(row.retries),
    row.isolation ?? '-',
  ]
}
