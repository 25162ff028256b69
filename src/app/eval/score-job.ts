import { clusteredInterval, type Interval, type RewardsByTask } from '../../core/clustered-interval.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { passAtK } from '../../stats/pass-at-k.ts'
import type { JobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'

/** The score of a job, with how sure it is and what it leaves out. */
export interface JobScore {
  readonly schema: 'eval-report/1'
  readonly job: string
  readonly agents: readonly string[]
  readonly models: readonly string[]
  /** The mean reward over tasks of trials that were scored. */
  readonly score: Interval | null
  /** The same when every infrastructure failure counts as 0: the least it can be. */
  readonly leastScore: number | null
  readonly passAtK: Readonly<Record<string, number>>
  readonly trials: { readonly scored: number; readonly failed: number; readonly cancelled: number }
  readonly failures: Readonly<Record<string, number>>
  readonly costUsd: number | null
}

/** Reads every trial of a job and scores it. */
export async function scoreJob(job: JobDir): Promise<{ readonly report: JobScore; readonly rewards: RewardsByTask }> {
  const store = await openTrialStore(job.dir, job.layout)
  const tally = new Tally()
  try {
    for await (const record of store.records()) tally.add(record)
  } finally {
    await store.close()
  }
  return { report: tally.report(job.name), rewards: tally.rewards }
}

class Tally {
  readonly rewards = new Map<string, number[]>()
  private readonly tasks = new Map<string, number>()
  private readonly failures = new Map<string, number>()
  private readonly agents = new Set<string>()
  private readonly models = new Set<string>()
  private readonly ends = { scored: 0, failed: 0, cancelled: 0 }
  private costUsd: number | null = null

  add({ end, task, agent, usage }: TrialRecord): void {
    this.ends[end.kind]++
    this.agents.add(agent.name)
    if (agent.model !== null) this.models.add(agent.model)
    this.tasks.set(task.name, (this.tasks.get(task.name) ?? 0) + 1)
    const cost = usage?.costUsd ?? null
    if (cost !== null) this.costUsd = (this.costUsd ?? 0) + cost
    if (end.kind === 'failed') this.failures.set(end.failure.code, (this.failures.get(end.failure.code) ?? 0) + 1)
    if (end.kind !== 'scored' || end.rewards === null) return
    const values = Object.values(end.rewards)
    const reward = end.rewards.reward ?? values.reduce((sum, value) => sum + value, 0) / values.length
    this.rewards.set(task.name, [...(this.rewards.get(task.name) ?? []), reward])
  }

  report(job: string): JobScore {
    return {
      schema: 'eval-report/1',
      job,
      agents: [...this.agents].sort(),
      models: [...this.models].sort(),
      score: clusteredInterval(this.rewards),
      leastScore: this.least(),
      passAtK: this.passes(),
      trials: this.ends,
      failures: Object.fromEntries(this.failures),
      costUsd: this.costUsd,
    }
  }

  private least(): number | null {
    if (this.tasks.size === 0) return null
    const shares = [...this.tasks].map(([task, trials]) => {
      const sum = (this.rewards.get(task) ?? []).reduce((total, reward) => total + reward, 0)
      return sum / trials
    })
    return shares.reduce((sum, share) => sum + share, 0) / shares.length
  }

  /** For every k that all tasks have scored attempts for; only where rewards are 0 or 1. */
  private passes(): Record<string, number> {
    const tasks = [...this.rewards.values()]
    if (tasks.length === 0 || tasks.some((rewards) => rewards.some((reward) => reward !== 0 && reward !== 1))) return {}
    const most = Math.min(...tasks.map(({ length }) => length))
    return Object.fromEntries(
      Array.from({ length: most }, (_, i) => i + 1).map((k) => {
        const each = tasks.map((rewards) => passAtK(rewards.length, rewards.filter((reward) => reward === 1).length, k))
        return [`pass@${k}`, each.reduce((sum, value) => sum + value, 0) / each.length]
      }),
    )
  }
}
