import { setImmediate } from 'node:timers/promises'
import type { ViewBoard, ViewBoardCell, ViewBoardRow } from '../../core/view-board.ts'
import { makeRandom } from '../../lib/random.ts'
import type { BoardModel, TaskMeans } from '../../registry/board.ts'
import type { FoundRun } from '../../registry/search.ts'
import { holm } from '../../stats/corrections.ts'
import { type Interval, meanInterval, type RewardsByTask } from '../../stats/interval.ts'
import { pairedDifference } from '../../stats/paired.ts'
import { ranksWithTies } from '../../stats/ranks.ts'
import { comparePaired, verdictOf } from '../../stats/verdict.ts'

type Candidate = FoundRun & { readonly runs: number }

/** `name@version`, or just the name if the version is unknown. */
export function benchmarkKey({ benchmark_name: name, benchmark_version: version }: FoundRun): string {
  return version === '' ? name : `${name}@${version}`
}

/** The rows of the leaderboard. The newest finished run counts; a partial one only if none is finished. */
export async function makeRows(
  runs: readonly Candidate[],
  models: ReadonlyMap<string, BoardModel>,
  means: ReadonlyMap<string, TaskMeans>,
): Promise<Omit<ViewBoard, 'ablations'>> {
  const lines = new Map<string, { model: string | null; agent: string; runs: Map<string, Candidate> }>()
  for (const run of runs) {
    const key = JSON.stringify([run.model_name, run.agent_name])
    const line = lines.get(key) ?? { model: run.model_name, agent: run.agent_name, runs: new Map() }
    lines.set(key, line)
    const before = line.runs.get(benchmarkKey(run))
    if (!before || counts(run, before)) line.runs.set(benchmarkKey(run), run)
  }
  const keys = [...new Set(runs.map(benchmarkKey))].sort()
  const ranks = new Map<string, number>()
  const benchmarks = []
  for (const key of keys) {
    const here = [...lines.values()].flatMap(({ runs: own }) => own.get(key) ?? [])
    const ranked = await ranksOf(here, means)
    for (const [id, rank] of ranked) ranks.set(id, rank)
    benchmarks.push({ key, tasks: Math.max(0, ...here.map(({ n_tasks }) => n_tasks ?? 0)), ranked: ranked.size })
  }
  const rows = [...lines.values()].map((line): ViewBoardRow => {
    const cells = keys.map((key) => {
      const run = line.runs.get(key)
      return run === undefined ? null : cellOf(run, ranks, tiesOf(key), means.get(run.job_id))
    })
    return { model: line.model, agent: line.agent, ...factsOf(line.model, models), cells }
  })
  return { benchmarks, rows: rows.sort(byMean) }

  function tiesOf(key: string): (rank: number) => boolean {
    const all = [...lines.values()].flatMap(({ runs: own }) => ranks.get(own.get(key)?.job_id ?? '') ?? [])
    return (rank) => all.filter((other) => other === rank).length > 1
  }
}

function counts(run: Candidate, before: Candidate): boolean {
  if (run.job_status !== before.job_status) return run.job_status === 'finished'
  return run.started_at > before.started_at
}

/** Ranks by run. If there are very many runs, only the best are compared. */
async function ranksOf(runs: readonly Candidate[], means: ReadonlyMap<string, TaskMeans>) {
  const finished = runs
    .filter(({ job_status, job_id }) => job_status === 'finished' && means.has(job_id))
    .sort((a, b) => (b.accuracy ?? 0) - (a.accuracy ?? 0))
    .slice(0, mostRanked)
  const ranks = await rankRuns(finished.map(({ job_id }) => means.get(job_id) ?? new Map()))
  return new Map(finished.map(({ job_id }, i) => [job_id, ranks[i] ?? 1]))
}

function cellOf(
  run: Candidate,
  ranks: ReadonlyMap<string, number>,
  isTied: (rank: number) => boolean,
  means: TaskMeans | undefined,
): ViewBoardCell {
  const accuracy = run.accuracy ?? 0
  const rank = ranks.get(run.job_id) ?? null
  return {
    accuracy,
    ...intervalOf(means, accuracy, run.accuracy_stderr),
    tasks: run.n_tasks ?? 0,
    trials: run.n_trials ?? 0,
    failed: run.n_failed ?? 0,
    costUsd: run.cost_usd,
    startedAt: run.started_at,
    runs: run.runs,
    jobName: run.job_name,
    job: run.location,
    state: run.job_status === 'finished' ? 'finished' : 'partial',
    rank,
    tied: rank !== null && isTied(rank),
  }
}

function factsOf(name: string | null, models: ReadonlyMap<string, BoardModel>) {
  const model = models.get(name ?? '')
  const rows = (model?.datasets ?? []).map((dataset) => dataset.rows)
  const known = rows.length > 0 && rows.every((count) => count !== null)
  const base = model?.base ?? null
  return {
    sizeB: sizeOf(name ?? '') ?? (base === null ? null : sizeOf(base)),
    base,
    datasets: (model?.datasets ?? []).map((dataset) => dataset.name),
    trainingRows: known ? rows.reduce<number>((sum, count) => sum + (count ?? 0), 0) : null,
  }
}

/**
 * Best first: by the mean over benchmarks with a finished run, but models with more such benchmarks come before those
 * with fewer.
 */
function byMean(a: ViewBoardRow, b: ViewBoardRow): number {
  const finished = ({ cells }: ViewBoardRow) =>
    cells.flatMap((cell) => (cell?.state === 'finished' ? [cell.accuracy] : []))
  const [x, y] = [finished(a), finished(b)]
  if (x.length !== y.length) return y.length - x.length
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  return mean(y) - mean(x) || ((a.model ?? '') < (b.model ?? '') ? -1 : 1)
}

/** At most this many runs of one benchmark are compared, because pairs grow quadratically. */
const mostRanked = 60

/** Rewards by task as the statistics need them. Only the mean and number of a task's attempts matter. */
function rewardsOf(means: TaskMeans): RewardsByTask {
  return new Map([...means].map(([task, { mean, trials }]) => [task, new Array<number>(trials).fill(mean)]))
}

/** A run's interval; from its standard error if the registry has no trials of it. */
export function intervalOf(means: TaskMeans | undefined, accuracy: number, standardError: number | null) {
  const found: Pick<Interval, 'low' | 'high'> | null = means === undefined ? null : meanInterval(rewardsOf(means))
  if (found) return { low: found.low, high: found.high }
  const half = standardError === null ? 1 : 1.96 * standardError
  return {
    low: Math.max(Math.min(0, accuracy), accuracy - half),
    high: Math.min(Math.max(1, accuracy), accuracy + half),
  }
}

/**
 * Ranks runs on one benchmark. Every pair is compared task by task, corrected for the number of pairs (Holm); runs that
 * cannot be told apart share a rank. Yields to other work between tests.
 */
export async function rankRuns(runs: readonly TaskMeans[]): Promise<number[]> {
  const rewards = runs.map(rewardsOf)
  const pairs: { first: number; second: number; difference: Interval | null; p: number }[] = []
  for (const [first, one] of rewards.entries()) {
    for (const [second, other] of rewards.entries()) {
      if (second <= first) continue
      const difference = pairedDifference(one, other)
      // A difference whose interval contains 0 stays undecided, whatever the test says.
      const isOpen = difference === null || (difference.low <= 0 && difference.high >= 0)
      const p = isOpen ? 1 : (comparePaired(one, other, makeRandom(1, 'eval compare').next)?.p ?? 1)
      pairs.push({ first, second, difference, p })
    }
    await setImmediate()
  }
  const adjusted = holm(pairs.map(({ p }) => p))
  const better = new Set<string>()
  for (const [i, { first, second, difference }] of pairs.entries()) {
    const verdict = difference === null ? 'undecided' : verdictOf(difference, adjusted[i] ?? 1)
    if (verdict === 'first') better.add(`${first} ${second}`)
    if (verdict === 'second') better.add(`${second} ${first}`)
  }
  return ranksWithTies(runs.length, (a, b) => better.has(`${a} ${b}`))
}

/**
 * A model's parameters in billions, guessed from its name: `Qwen3-8B`, `llama_70b`, `SmolLM2-360M`. For `30B-A3B` it is
 * the first number, the total. Null if the name does not say.
 */
export function sizeOf(name: string): number | null {
  const [, number = '', unit = ''] = /(?:^|[-_/. ])(\d{1,4}(?:\.\d{1,3})?)([bm])(?=$|[-_/. :@])/i.exec(name) ?? []
  if (number === '') return null
  return unit.toLowerCase() === 'b' ? Number(number) : Number(number) / 1000
}
