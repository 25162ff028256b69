import { studentCdf, studentQuantile } from './distributions.ts'
import { mean, type RewardsByTask, variance } from './interval.ts'
import { pairsOf } from './paired.ts'

/** Assumptions about two runs to be compared on the same tasks. */
export interface Design {
  /** The mean reward of each run. */
  readonly rate: number
  /**
   * The share of a reward's variance that lies between tasks: 0 when all are equally hard, 1 when each attempt at a
   * task ends the same way.
   */
  readonly clustering: number
  /** How far the two runs find the same tasks hard: the correlation of their true success rates over tasks. */
  readonly correlation: number
  readonly tasks: number
  /** Attempts at each task, in both runs. */
  readonly attempts: number
}

/**
 * Values to use without a pilot. Eight models with five attempts at each of the 89 tasks of Terminal-Bench 2.0 have
 * task-clustered standard errors of 3.4 to 4.7 points, and paired ones of 2.3 to 2.7: that is a clustering of about
 * 0.75 and a correlation of about 0.9.
 */
export const usualDesign = { rate: 0.3, clustering: 0.75, correlation: 0.9 } as const

/** The power that the other functions aim for: the chance to detect an effect. */
export const usualPower = 0.8

/** The expected standard error of the paired difference between two such runs. */
export function differenceError({ rate, clustering, correlation, tasks, attempts }: Design): number {
  const spread = 2 * rate * (1 - rate) * (clustering * (1 - correlation) + (1 - clustering) / attempts)
  // The interval of a comparison is never narrower than this: see pairedDifference.
  const floor = 2 / (tasks + 2)
  return Math.sqrt(Math.max(spread, floor) / tasks)
}

/** The expected standard error of one such run's score. */
export function scoreError({ rate, clustering, tasks, attempts }: Design): number {
  return Math.sqrt((rate * (1 - rate) * (clustering + (1 - clustering) / attempts)) / tasks)
}

/** The chance that a comparison detects a difference of `effect`. */
export function powerOf(effect: number, design: Design): number {
  const freedom = design.tasks - 1
  if (freedom < 1) return 0
  return studentCdf(Math.abs(effect) / differenceError(design) - studentQuantile(0.975, freedom), freedom)
}

/**
 * The smallest difference that a comparison detects with a chance of 80 %, as one of `tests` tests that are corrected
 * together.
 */
export function detectableEffect(design: Design, tests = 1): number {
  const freedom = design.tasks - 1
  if (freedom < 1) return Number.POSITIVE_INFINITY
  const level = studentQuantile(1 - 0.025 / tests, freedom)
  return (level + studentQuantile(usualPower, freedom)) * differenceError(design)
}

const mostTasks = 1_000_000
const mostAttempts = 10_000

/** How many tasks it takes to detect a difference of `effect`; null when even a million are not enough. */
export function requiredTasks(effect: number, design: Omit<Design, 'tasks'>): number | null {
  return least(mostTasks, (tasks) => detectableEffect({ ...design, tasks }) <= effect)
}

/**
 * How many attempts at each task it takes; null when more attempts do not help because the tasks themselves differ too
 * much.
 */
export function requiredAttempts(effect: number, design: Omit<Design, 'attempts'>): number | null {
  return least(mostAttempts, (attempts) => detectableEffect({ ...design, attempts }) <= effect)
}

/** The smallest whole number that suffices, given that all larger ones do. */
function least(most: number, suffices: (value: number) => boolean): number | null {
  if (!suffices(most)) return null
  let [low, high] = [0, most]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (suffices(middle)) high = middle
    else low = middle
  }
  return high
}

export interface Pilot {
  readonly rate: number
  /** Null when no task was attempted twice. */
  readonly clustering: number | null
}

/** What a finished run says about future ones; null when it has fewer than two tasks. */
export function pilotOf(rewards: RewardsByTask): Pilot | null {
  const tasks = [...rewards.values()].filter(({ length }) => length > 0)
  if (tasks.length < 2) return null
  const { between, within } = variancesOf(tasks)
  const total = within === null ? 0 : between + within
  // Adds one success and one failure: a pilot at 0 or 1 does not mean that the next runs have no variance.
  const rate = (mean(tasks.map(mean)) * tasks.length + 1) / (tasks.length + 2)
  return { rate, clustering: within === null ? null : total === 0 ? 1 : between / total }
}

/** How far two finished runs find the same tasks hard; null when their success rates vary too little to tell. */
export function pilotCorrelation(first: RewardsByTask, second: RewardsByTask): number | null {
  const pairs = pairsOf(first, second)
  if (pairs.length < 3) return null
  const spreads = [first, second].map((run) => variancesOf(pairs.map(({ task }) => run.get(task) ?? [])).between)
  const product = (spreads[0] ?? 0) * (spreads[1] ?? 0)
  if (product === 0) return null
  const [a, b] = [mean(pairs.map((pair) => pair.first)), mean(pairs.map((pair) => pair.second))]
  const products = pairs.reduce((sum, pair) => sum + (pair.first - a) * (pair.second - b), 0)
  return Math.min(1, Math.max(0, products / (pairs.length - 1) / Math.sqrt(product)))
}

/** Unbiased variances of rewards between and within tasks; without repeated attempts all variance counts as between. */
function variancesOf(tasks: readonly (readonly number[])[]): { between: number; within: number | null } {
  const repeated = tasks.filter(({ length }) => length > 1)
  const within = repeated.length === 0 ? null : mean(repeated.map(variance))
  const noise = mean(tasks.map(({ length }) => (within ?? 0) / length))
  return { between: Math.max(0, variance(tasks.map(mean)) - noise), within }
}
