import { type Interval, mean } from '../../../stats/interval.ts'
import { pairedDifference } from '../../../stats/paired.ts'
import { meanZScores } from '../../../stats/ranks.ts'

/** One trial of a teacher on a task. */
export interface TeacherTrial {
  readonly task: string
  /** The task's source; scores are standardised per source. */
  readonly source: string
  /** Null after an infrastructure failure or without verification, which is not the teacher's failure. */
  readonly reward: number | null
  readonly turns: number | null
  readonly tokens: number | null
  readonly costUsd: number | null
}

/** A teacher's results on the sample. */
export interface TeacherScore {
  readonly name: string
  readonly trials: number
  /** Trials without a reward, which are ignored. */
  readonly unscored: number
  /** Share of scored trials with a full reward. */
  readonly success: number | null
  readonly meanReward: number | null
  readonly meanTurns: number | null
  readonly meanTokens: number | null
  readonly costUsd: number | null
  /**
   * The mean over sources of the z-score of its mean reward among all teachers; null when it has no reward in one of
   * them.
   */
  readonly meanZ: number | null
  /**
   * How much higher its reward is than the chosen teacher's, by task; null for the chosen one, and without a task in
   * common.
   */
  readonly againstChoice: Interval | null
}

export interface Comparison {
  readonly scores: readonly TeacherScore[]
  /** Index of the choice; null when no teacher has a score. */
  readonly choice: number | null
  /**
   * The share of teacher pairs and tasks scored by both in which the two verdicts agree; null when there is no pair.
   */
  readonly agreement: number | null
}

export interface Tried {
  readonly name: string
  readonly trials: readonly TeacherTrial[]
}

/**
 * Scores teachers that were tried on the same tasks; the highest mean z-score wins, then the lower cost, then the first
 * named.
 */
export function compareTeachers(tried: readonly Tried[]): Comparison {
  const sources = [...new Set(tried.flatMap(({ trials }) => trials.map(({ source }) => source)))].sort()
  const z = meanZs(tried, sources)
  const plain = tried.map(({ name, trials }, i) => ({ name, ...summary(trials), meanZ: z[i] ?? null }))
  const choice = best(plain)
  const rewards = tried.map(({ trials }) => rewardsByTask(trials))
  const chosen = choice === null ? undefined : rewards[choice]
  const scores = plain.map((score, i) => {
    const own = rewards[i]
    const against = own && chosen && i !== choice ? pairedDifference(own, chosen) : null
    return { ...score, againstChoice: against }
  })
  return { scores, choice, agreement: agreementOf(rewards) }
}

function summary(trials: readonly TeacherTrial[]) {
  const rewards = present(trials.map(({ reward }) => reward))
  const costs = present(trials.map(({ costUsd }) => costUsd))
  return {
    trials: trials.length,
    unscored: trials.length - rewards.length,
    success: meanOrNull(rewards.map((reward) => (reward >= 1 ? 1 : 0))),
    meanReward: meanOrNull(rewards),
    meanTurns: meanOrNull(present(trials.map(({ turns }) => turns))),
    meanTokens: meanOrNull(present(trials.map(({ tokens }) => tokens))),
    costUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
  }
}

function meanZs(tried: readonly Tried[], sources: readonly string[]): (number | null)[] {
  const means = tried.map(({ trials }) =>
    sources.map((source) =>
      meanOrNull(present(trials.filter((trial) => trial.source === source).map(({ reward }) => reward))),
    ),
  )
  return meanZScores(means)
}

function best(scores: readonly Pick<TeacherScore, 'meanZ' | 'costUsd'>[]): number | null {
  const ranked = scores
    .map((score, i) => ({ ...score, i }))
    .filter(({ meanZ }) => meanZ !== null)
    .sort((a, b) => (b.meanZ ?? 0) - (a.meanZ ?? 0) || (a.costUsd ?? Infinity) - (b.costUsd ?? Infinity) || a.i - b.i)
  return ranked[0]?.i ?? null
}

function rewardsByTask(trials: readonly TeacherTrial[]): Map<string, number[]> {
  const rewards = new Map<string, number[]>()
  for (const { task, reward } of trials) if (reward !== null) rewards.set(task, [...(rewards.get(task) ?? []), reward])
  return rewards
}

function agreementOf(rewards: readonly ReadonlyMap<string, readonly number[]>[]): number | null {
  const same: number[] = []
  for (const [i, a] of rewards.entries())
    for (const b of rewards.slice(i + 1))
      for (const [task, own] of a) {
        const other = b.get(task)
        if (other) same.push(mean(own) >= 0.5 === mean(other) >= 0.5 ? 1 : 0)
      }
  return meanOrNull(same)
}

function present(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null)
}

function meanOrNull(values: readonly number[]): number | null {
  return values.length === 0 ? null : mean(values)
}
