import type { TraceFacts } from '../core/trace.ts'
import { type Distribution, quantilesOf } from './distribution.ts'

/** How a measure is spread over the trials that have it. */
export type Spread = Omit<Distribution, 'p95' | 'p99'>

export interface TaskStats {
  readonly task: string
  readonly trials: number
  /** Trials with a reward above 0 and no exception. */
  readonly solved: number
  /** Over the trials that have a reward; null when none has. */
  readonly meanReward: number | null
  /** Over the trials that have turns. */
  readonly meanTurns: number | null
}

/** Trials whose agent was told the same thing. */
export interface SharedPrompt {
  readonly digest: string
  readonly trials: number
  readonly tasks: readonly string[]
}

export interface TraceStats {
  /** Rows, main ones and subagents'. */
  readonly traces: number
  readonly tracesBySource: ReadonlyMap<string, number>
  readonly trials: number
  /** Trials that left no trace. */
  readonly withoutTrace: number
  readonly results: ReadonlyMap<string, number>
  /** What became of every trial: solved, not solved, stopped, not verified, failed by whom. They add up to `trials`. */
  readonly outcomes: ReadonlyMap<string, number>
  /** Trials whose agent changed system files: how many, and in how many of them the tests said something else because of it. */
  readonly systemChanged: { readonly trials: number; readonly differ: number }
  readonly turns: Spread | null
  readonly inputTokens: Spread | null
  readonly outputTokens: Spread | null
  readonly costUsd: Spread | null
  readonly tasks: readonly TaskStats[]
  readonly prompts: { readonly distinct: number; readonly acrossTasks: readonly SharedPrompt[] }
}

/** Values of a measure, one for each trial that has it. */
export type Measure = 'turns' | 'inputTokens' | 'outputTokens' | 'costUsd'

/** Adds up traces as they come, and knows each trial's numbers in the end. */
export interface TraceTally {
  add(facts: TraceFacts): void
  stats(): TraceStats
  values(measure: Measure): number[]
}

/** A trial may have many rows: the one with the most turns speaks for it. */
export function makeTraceTally(): TraceTally {
  const trials = new Map<string, TraceFacts>()
  const bySource = new Map<string, number>()
  const values = (measure: Measure) => [...trials.values()].flatMap((facts) => facts[measure] ?? [])
  return {
    add(facts) {
      if (facts.traceSource !== null) count(bySource, facts.traceSource)
      const key = `${facts.job}\0${facts.trial}`
      const known = trials.get(key)
      if (known === undefined || weight(facts) > weight(known)) trials.set(key, facts)
    },
    values,
    stats() {
      const all = [...trials.values()]
      return {
        traces: [...bySource.values()].reduce((sum, rows) => sum + rows, 0),
        tracesBySource: byCount(bySource),
        trials: all.length,
        withoutTrace: all.filter(({ traceSource }) => traceSource === null).length,
        results: countBy(all, ({ result }) => result ?? 'not verified'),
        outcomes: countBy(all, outcomeOf),
        systemChanged: {
          trials: all.filter(({ systemEffect }) => systemEffect !== null).length,
          differ: all.filter(({ systemEffect }) => systemEffect === 'differ').length,
        },
        turns: spreadOf(values('turns')),
        inputTokens: spreadOf(values('inputTokens')),
        outputTokens: spreadOf(values('outputTokens')),
        costUsd: spreadOf(values('costUsd')),
        tasks: tasksOf(all),
        prompts: promptsOf(all),
      }
    },
  }
}

function weight({ traceSource, turns }: TraceFacts): number {
  return (traceSource === 'main' ? 1e9 : 0) + (turns ?? 0)
}

/** What became of a trial, in a few words. */
export function outcomeOf({ result, end, exit, boundary, reward }: TraceFacts): string {
  if (end === 'cancelled') return 'cancelled'
  if (end === 'failed') return `failed: ${boundary ?? 'unknown'}: ${result ?? 'unknown'}`
  if (isSolved({ result })) return 'solved'
  const stopped =
    exit !== null && exit !== 'finished' ? `, stopped by ${exit === 'exited' ? 'a bad exit' : `${exit} limit`}` : ''
  return `${reward === null ? 'not verified' : reward > 0 ? 'rewarded' : 'not solved'}${stopped}`
}

function isSolved({ result }: Pick<TraceFacts, 'result'>): boolean {
  return result !== null && Number(result) > 0
}

/** Null when there are no values. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const at = quantilesOf(values)
  // In one order, so that the same values have the same sum.
  const sum = values.toSorted((a, b) => a - b).reduce((total, value) => total + value, 0)
  const [min, p10, p50, p90, max] = [at(0), at(0.1), at(0.5), at(0.9), at(1)]
  return { count: values.length, sum, mean: sum / values.length, min, p10, p50, p90, max }
}

function tasksOf(all: readonly TraceFacts[]): TaskStats[] {
  const groups = groupBy(all, ({ task }) => task)
  return [...groups]
    .map(([task, trials]) => ({
      task,
      trials: trials.length,
      solved: trials.filter(isSolved).length,
      meanReward: meanOf(trials.flatMap(({ reward }) => reward ?? [])),
      meanTurns: meanOf(trials.flatMap(({ turns }) => turns ?? [])),
    }))
    .sort((a, b) => (a.task < b.task ? -1 : 1))
}

function promptsOf(all: readonly TraceFacts[]): TraceStats['prompts'] {
  const groups = groupBy(all, ({ promptDigest }) => promptDigest)
  groups.delete(null)
  const shared = [...groups].flatMap(([digest, trials]): SharedPrompt[] => {
    const tasks = [...new Set(trials.map(({ task }) => task))].sort()
    return digest !== null && tasks.length > 1 ? [{ digest, trials: trials.length, tasks }] : []
  })
  return { distinct: groups.size, acrossTasks: shared.sort((a, b) => b.trials - a.trials) }
}

function meanOf(values: readonly number[]): number | null {
  return spreadOf(values)?.mean ?? null
}

function countBy(all: readonly TraceFacts[], keyOf: (facts: TraceFacts) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const facts of all) count(counts, keyOf(facts))
  return byCount(counts)
}

function groupBy<K>(all: readonly TraceFacts[], keyOf: (facts: TraceFacts) => K): Map<K, TraceFacts[]> {
  const groups = new Map<K, TraceFacts[]>()
  for (const facts of all) {
    const key = keyOf(facts)
    const group = groups.get(key)
    if (group) group.push(facts)
    else groups.set(key, [facts])
  }
  return groups
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function byCount(counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)))
}
