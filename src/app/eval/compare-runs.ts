import { UserError } from '../../core/errors.ts'
import { makeRandom } from '../../lib/random.ts'
import { pairedBootstrap } from '../../stats/bootstrap.ts'
import { holm } from '../../stats/corrections.ts'
import type { Interval, RewardsByTask } from '../../stats/interval.ts'
import type { TaskPair } from '../../stats/paired.ts'
import { ranksWithTies } from '../../stats/ranks.ts'
import { comparePaired, type Verdict, verdictOf } from '../../stats/verdict.ts'
import type { RunScore } from './score-job.ts'
import { sentenceOf } from './sentence.ts'

export interface EvalComparison {
  readonly schema: 'eval-compare/2'
  readonly runs: readonly ComparedRun[]
  /** Every pair of runs, in the order of the runs. */
  readonly pairs: readonly ComparedPair[]
}

export interface ComparedRun {
  readonly name: string
  readonly agent: string
  readonly model: string | null
  readonly accuracy: Interval | null
  readonly state: RunScore['state']
  readonly reasons: readonly string[]
  /**
   * 1 for a run that no other is known to beat; runs that cannot be told apart share a rank. Null for a partial result.
   */
  readonly rank: number | null
}

export interface ComparedPair {
  /** Indices into `runs`. */
  readonly first: number
  readonly second: number
  /** First minus second, over the tasks both have. */
  readonly difference: Interval
  /** From the sign-flip test over tasks. */
  readonly p: number
  /** The same, corrected for the number of pairs (Holm). */
  readonly adjustedP: number
  /** True if every combination of signs was tried. */
  readonly exact: boolean
  readonly verdict: Verdict
  /** The verdict in words. */
  readonly sentence: string
  /** Tasks scored in only one of the two, or different tasks under the same name. */
  readonly leftOut: { readonly onlyFirst: number; readonly onlySecond: number; readonly changed: number }
  readonly tasks: readonly TaskPair[]
  /**
   * Mean differences over 10,000 bootstrap samples of the tasks: the 95 % quantiles, and a few hundred values for a
   * plot.
   */
  readonly bootstrap: { readonly low: number; readonly high: number; readonly sample: readonly number[] }
}

/** Compares every pair of runs on the tasks both have. */
export function compareRuns(runs: readonly RunScore[]): EvalComparison {
  if (runs.length < 2)
    throw new UserError(
      `expected at least two results to compare, got ${runs.length}`,
      'give two jobs, or one with several models',
    )
  const plain = runs.flatMap((first, i) =>
    runs.slice(i + 1).map((second, j) => ({ first: i, second: i + 1 + j, ...comparePair(first, second) })),
  )
  const adjusted = holm(plain.map(({ p }) => p))
  const pairs = plain.map(({ pairs: tasks, ...pair }, i): ComparedPair => {
    const adjustedP = adjusted[i] ?? 1
    const found = { ...pair, adjustedP, verdict: verdictOf(pair.difference, adjustedP) }
    const [first, second] = [runs[pair.first], runs[pair.second]] as [RunScore, RunScore]
    return { ...found, sentence: sentenceOf(first, second, { ...found, tests: plain.length }), tasks }
  })
  return { schema: 'eval-compare/2', runs: rankedRuns(runs, pairs), pairs }
}

function comparePair(first: RunScore, second: RunScore) {
  const checksums = new Map(second.tasks.map(({ task, checksum }) => [task, checksum]))
  const isChanged = (task: string, checksum: string) => {
    const other = checksums.get(task)
    return other !== undefined && other !== '' && checksum !== '' && other !== checksum
  }
  const changed = new Set(first.tasks.filter(({ task, checksum }) => isChanged(task, checksum)).map(({ task }) => task))
  const [a, b] = [rewardsOf(first, changed), rewardsOf(second, changed)]
  const found = comparePaired(a, b, makeRandom(1, 'eval compare').next)
  if (found === null)
    throw new UserError(
      `${first.name} and ${second.name} have no scored task in common`,
      changed.size > 0
        ? `${changed.size} tasks have the same name but different files`
        : 'compare jobs over the same tasks',
    )
  const { draws, low, high } = pairedBootstrap(
    found.pairs.map((pair) => pair.first - pair.second),
    makeRandom(1, 'bootstrap').next,
  )
  const sample = Array.from({ length: 400 }, (_, i) => draws[Math.floor(((i + 0.5) / 400) * draws.length)] ?? 0)
  const [onlyFirst, onlySecond] = [a.size - found.pairs.length, b.size - found.pairs.length]
  return { ...found, leftOut: { onlyFirst, onlySecond, changed: changed.size }, bootstrap: { low, high, sample } }
}

function rewardsOf(run: RunScore, without: ReadonlySet<string>): RewardsByTask {
  const scored = run.tasks.filter(({ task, rewards }) => rewards.length > 0 && !without.has(task))
  return new Map(scored.map(({ task, rewards }) => [task, rewards]))
}

function rankedRuns(runs: readonly RunScore[], pairs: readonly ComparedPair[]): ComparedRun[] {
  const whole = [...runs.keys()].filter((i) => runs[i]?.state === 'complete')
  const beats = (one: number, other: number) =>
    pairs.some(
      ({ first, second, verdict }) =>
        (verdict === 'first' && first === one && second === other) ||
        (verdict === 'second' && second === one && first === other),
    )
  const ranks = ranksWithTies(whole.length, (a, b) => beats(whole[a] ?? -1, whole[b] ?? -1))
  return runs.map(({ name, agent, model, accuracy, state, reasons }, i) => ({
    ...{ name, agent, model, accuracy, state, reasons },
    rank: state === 'complete' ? (ranks[whole.indexOf(i)] ?? null) : null,
  }))
}
