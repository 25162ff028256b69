import type { EvalStats } from '../../core/job-stats.ts'
import { boundaryOfCode } from '../../formats/harbor-job/blame.ts'
import { type JobDir, listJobs as listJobDirs } from '../../store/job-dir.ts'
import { type JobState, stateOf } from './find-job.ts'

/** A job in a list; taken from result.json alone, so that many large jobs list quickly. */
export interface JobRow {
  readonly state: JobState
  readonly name: string
  readonly dir: string
  readonly done: number
  readonly total: number | null
  readonly scored: number
  readonly cancelled: number
  /** Over trials with a reward. */
  readonly meanReward: number | null
  /** By boundary, or by exception name if that does not determine the boundary. */
  readonly failures: Readonly<Record<string, number>>
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

/** Lists the jobs in a directory, ours and Harbor's, and why others could not be read. */
export async function listJobs(jobsDir: string) {
  const { jobs, broken } = await listJobDirs(jobsDir)
  return { jobs: await Promise.all(jobs.map(jobRowOf)), broken }
}

/** The row of one job. */
export async function jobRowOf(job: JobDir): Promise<JobRow> {
  return { ...rowOf(job), state: await stateOf(job) }
}

function rowOf(job: JobDir): Omit<JobRow, 'state'> {
  const { result } = job
  const evals = [...(result?.stats.evals.values() ?? [])]
  const rewards = evals.map(mainRewards)
  const scored = rewards.reduce((count, group) => count + group.count, 0)
  const sum = rewards.reduce((total, group) => total + group.sum, 0)
  return {
    name: job.name,
    dir: job.dir,
    done: result?.stats.completed ?? 0,
    total: result?.totalTrials ?? null,
    scored,
    cancelled: result?.stats.cancelled ?? 0,
    meanReward: scored === 0 ? null : sum / scored,
    failures: countFailures(evals, job.config.verifier.disable),
    startedAt: result?.startedAt ?? job.own?.startedAt ?? null,
    finishedAt: result?.finishedAt ?? null,
  }
}

/** The rewards called `reward`, or else the first kind. */
function mainRewards({ rewardStats }: EvalStats): { count: number; sum: number } {
  const values = [...(rewardStats.get('reward') ?? [...rewardStats.values()][0] ?? [])]
  const count = values.reduce((total, [, names]) => total + names.length, 0)
  return { count, sum: values.reduce((total, [value, names]) => total + value * names.length, 0) }
}

/**
 * Exceptions that are failures: leaves out trials with rewards, cancelled trials and agents that merely hit a limit.
 */
function countFailures(evals: readonly EvalStats[], unverified: boolean): Record<string, number> {
  const failures = new Map<string, number>()
  for (const { rewardStats, exceptionStats } of evals) {
    const rewarded = new Set([...rewardStats.values()].flatMap((byValue) => [...byValue.values()].flat()))
    for (const [code, names] of exceptionStats) {
      if (code === 'CancelledError' || (unverified && stops.has(code))) continue
      const count = names.filter((name) => !rewarded.has(name)).length
      const blamed = boundaryOfCode(code) ?? code
      if (count > 0) failures.set(blamed, (failures.get(blamed) ?? 0) + count)
    }
  }
  return Object.fromEntries(failures)
}

const stops: ReadonlySet<string> = new Set(['AgentTimeoutError', 'NonZeroAgentExitCodeError'])
