import { type Phase, phases, type TrialRecord } from '../../core/trial.ts'
import { exceptionOf } from '../../core/trial-exception.ts'
import { isSuccess } from '../../formats/traces/trial-facts.ts'
import { type Distribution, DistributionTally, EvenSample } from '../../stats/distribution.ts'
import { rankCorrelation } from '../../stats/ranks.ts'
import { secondsBetween, trialMeasures } from '../../stats/trial-measures.ts'

/** How trials spent their time. */
export interface RuntimeReport {
  /** Seconds per phase; `other` is time outside all phases, `total` the whole trial. */
  readonly seconds: Readonly<Record<RuntimePart, Distribution | null>>
  /** Each part's share of the total time. */
  readonly shares: Readonly<Record<Exclude<RuntimePart, 'total'>, number>>
  /** Slowest first. */
  readonly slowest: readonly SlowTrial[]
  readonly exceptions: readonly ExceptionCount[]
  /** Trials in four groups of equal size, by duration. */
  readonly quarters: readonly Quarter[]
  /** Spearman's correlation between a trial's duration and its other measures. */
  readonly correlations: readonly { readonly measure: string; readonly rho: number; readonly trials: number }[]
}

export const runtimeParts = [...phases, 'other', 'total'] as const
export type RuntimePart = (typeof runtimeParts)[number]

export interface SlowTrial {
  readonly job: string
  readonly trial: string
  readonly task: string
  readonly totalSec: number
  readonly slowestPart: Exclude<RuntimePart, 'total'>
  readonly slowestPartSec: number
  readonly exception: string | null
}

export interface ExceptionCount {
  readonly type: string
  readonly trials: number
  readonly share: number
  readonly medianSec: number
  /** A few of them, as JOB/TRIAL. */
  readonly examples: readonly string[]
}

export interface Quarter {
  readonly fromSec: number
  readonly toSec: number
  readonly trials: number
  readonly exceptions: number
  readonly solved: number
}

interface Sampled {
  readonly totalSec: number
  readonly isException: boolean
  readonly isSolved: boolean
  readonly turns: number | undefined
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
}

const mostExceptions = 200
const examples = 3
/** How many trials correlations and quarters are computed from; larger sets are sampled evenly. */
const sampled = 20_000

/** Sums up the times of trials in bounded memory. */
export class RuntimeTally {
  private readonly tallies = new Map<RuntimePart, DistributionTally>()
  private readonly exceptions = new Map<string, { trials: number; tally: DistributionTally; examples: string[] }>()
  private readonly sample = new EvenSample<Sampled>(sampled)
  private slowest: SlowTrial[] = []
  private trials = 0

  /** `top`: how many of the slowest trials to keep. */
  constructor(private readonly top: number) {}

  add(job: string, record: TrialRecord): void {
    this.trials++
    const { turns, inputTokens, outputTokens, ...sec } = trialMeasures(record)
    const totalSec = secondsBetween(record.startedAt, record.finishedAt)
    const known = phases.reduce((sum, phase) => sum + (sec[phase] ?? 0), 0)
    const parts = { ...pick(sec), other: Math.max(0, totalSec - known) }
    for (const [part, value] of Object.entries({ ...parts, total: totalSec })) this.measure(part as RuntimePart, value)
    const exception = exceptionOf(record)?.type ?? null
    if (exception !== null) this.countException(exception, totalSec, `${job}/${record.name}`)
    this.sample.add({
      ...{ totalSec, turns, inputTokens, outputTokens },
      isException: exception !== null,
      isSolved: isSuccess(record),
    })
    this.keepSlow({ job, trial: record.name, task: record.task.name, totalSec, exception, ...slowestOf(parts) })
  }

  read(): RuntimeReport {
    const seconds = mapParts(runtimeParts, (part) => this.tallies.get(part)?.read() ?? null)
    const all = seconds.total?.sum ?? 0
    const isPart = (part: RuntimePart): part is Exclude<RuntimePart, 'total'> => part !== 'total'
    return {
      seconds,
      shares: mapParts(runtimeParts.filter(isPart), (part) => (all === 0 ? 0 : (seconds[part]?.sum ?? 0) / all)),
      slowest: this.slowestFirst(),
      exceptions: [...this.exceptions]
        .map(([type, { trials, tally, examples }]) => {
          const medianSec = tally.read()?.p50 ?? 0
          return { type, trials, share: trials / this.trials, medianSec, examples }
        })
        .sort((a, b) => b.trials - a.trials || (a.type < b.type ? -1 : 1)),
      quarters: quartersOf(this.sample.read()),
      correlations: correlationsOf(this.sample.read()),
    }
  }

  private measure(part: RuntimePart, value: number): void {
    const tally = this.tallies.get(part) ?? new DistributionTally()
    this.tallies.set(part, tally)
    tally.add(value)
  }

  private countException(given: string, sec: number, name: string): void {
    const type = this.exceptions.has(given) || this.exceptions.size < mostExceptions ? given : 'other exceptions'
    const known = this.exceptions.get(type) ?? { trials: 0, tally: new DistributionTally(), examples: [] }
    this.exceptions.set(type, known)
    known.trials++
    known.tally.add(sec)
    if (known.examples.length < examples) known.examples.push(name)
  }

  private keepSlow(trial: SlowTrial): void {
    this.slowest.push(trial)
    if (this.slowest.length > this.top * 2 + 100) this.slowest = this.slowestFirst()
  }

  private slowestFirst(): SlowTrial[] {
    const sorted = this.slowest.toSorted((a, b) => b.totalSec - a.totalSec || (a.trial < b.trial ? -1 : 1))
    return sorted.slice(0, this.top)
  }
}

function pick(sec: Readonly<Partial<Record<string, number>>>): Partial<Record<Phase, number>> {
  return Object.fromEntries(phases.flatMap((phase) => (sec[phase] === undefined ? [] : [[phase, sec[phase]]])))
}

function slowestOf(parts: Readonly<Partial<Record<string, number>>>) {
  const [slowestPart = 'other', slowestPartSec = 0] =
    Object.entries(parts).sort(([, a = 0], [, b = 0]) => b - a)[0] ?? []
  return { slowestPart: slowestPart as Exclude<RuntimePart, 'total'>, slowestPartSec }
}

function mapParts<K extends string, V>(names: readonly K[], value: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<K, V>
}

function quartersOf(sample: readonly Sampled[]): Quarter[] {
  const sorted = sample.toSorted((a, b) => a.totalSec - b.totalSec)
  if (sorted.length < 4) return []
  return [0, 1, 2, 3].map((i) => {
    const group = sorted.slice((i * sorted.length) / 4, ((i + 1) * sorted.length) / 4)
    return {
      fromSec: group[0]?.totalSec ?? 0,
      toSec: group.at(-1)?.totalSec ?? 0,
      trials: group.length,
      exceptions: group.filter(({ isException }) => isException).length,
      solved: group.filter(({ isSolved }) => isSolved).length,
    }
  })
}

function correlationsOf(sample: readonly Sampled[]): RuntimeReport['correlations'] {
  const measures: [string, (each: Sampled) => number | undefined][] = [
    ['turns', ({ turns }) => turns],
    ['input tokens', ({ inputTokens }) => inputTokens],
    ['output tokens', ({ outputTokens }) => outputTokens],
    ['solved', ({ isSolved }) => (isSolved ? 1 : 0)],
  ]
  return measures.flatMap(([measure, read]) => {
    const pairs = sample.flatMap((each): (readonly [number, number])[] => {
      const value = read(each)
      return value === undefined ? [] : [[each.totalSec, value]]
    })
    const rho = rankCorrelation(pairs)
    return rho === null ? [] : [{ measure, rho, trials: pairs.length }]
  })
}
