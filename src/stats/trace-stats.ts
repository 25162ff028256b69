import type { TraceFacts } from '../core/trace.ts'
import { type Distribution, quantilesOf } from './distribution.ts'

/** How a measure is distributed over the trials that have it. */
export type Spread = Omit<Distribution, 'p95' | 'p99'>

export interface TaskStats {
  readonly task: string
  readonly trials: number
  /** Trials with a reward above 0 and no exception. */
  readonly solved: number
  /** Mean over the trials with a reward; null when there are none. */
  readonly meanReward: number | null
  /** Mean over the trials with turns. */
  readonly meanTurns: number | null
}

/** Trials whose agents got the same prompt. */
export interface SharedPrompt {
  readonly digest: string
  readonly trials: number
  readonly tasks: readonly string[]
}

export interface TraceStats {
  /** Rows, from main trajectories and subagents. */
  readonly traces: number
  readonly tracesBySource: ReadonlyMap<string, number>
  readonly trials: number
  /** Trials that left no trace. */
  readonly withoutTrace: number
  readonly results: ReadonlyMap<string, number>
  /**
   * What became of every trial: solved, not solved, stopped, not verified, failed at which boundary. They add up to
   * `trials`.
   */
  readonly outcomes: ReadonlyMap<string, number>
  /** Trials whose agent changed system files: how many, and in how many of them that changed the test results. */
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

/** Adds up traces as they come, and knows each trial's numbers at the end. */
export interface TraceTally {
  add(facts: TraceFacts): void
  stats(): TraceStats
  values(measure: Measure): number[]
}

/** A trial may have many rows: the one with the most turns represents the trial, or its step. */
export function makeTraceTally(): TraceTally {
  const trials = new Map<string, TraceFacts[]>()
  const bySource = new Map<string, number>()
  const wholeTrials = () => [...trials.values()].map(wholeTrial)
  return {
    add(facts) {
      if (facts.traceSource !== null) count(bySource, facts.traceSource)
      const key = `${facts.job}\0${facts.trial}`
      const parts = trials.get(key)
      if (parts) keepLongest(parts, facts)
      else trials.set(key, [facts])
    },
    values: (measure) => valuesOf(wholeTrials(), measure),
    stats() {
      const all = wholeTrials()
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
        turns: spreadOf(valuesOf(all, 'turns')),
        inputTokens: spreadOf(valuesOf(all, 'inputTokens')),
        outputTokens: spreadOf(valuesOf(all, 'outputTokens')),
        costUsd: spreadOf(valuesOf(all, 'costUsd')),
        tasks: tasksOf(all),
        prompts: promptsOf(all),
      }
    },
  }
}

function valuesOf(all: readonly TraceFacts[], measure: Measure): number[] {
  return all.flatMap((facts) => facts[measure] ?? [])
}

/** Keeps one row per step. */
function keepLongest(parts: TraceFacts[], facts: TraceFacts): void {
  const at = parts.findIndex(({ step }) => step === facts.step)
  const known = parts[at]
  if (known === undefined) parts.push(facts)
  else if (weight(facts) > weight(known)) parts[at] = facts
}

/** A multi-step trial has the turns of all its steps; everything else is the same in each of its rows. */
function wholeTrial(parts: readonly TraceFacts[]): TraceFacts {
  const longest = parts.reduce((best, part) => (weight(part) > weight(best) ? part : best))
  if (parts.length === 1) return longest
  const turns = parts
    .filter(({ traceSource }) => traceSource === longest.traceSource)
    .flatMap((part) => part.turns ?? [])
  const effects = parts.map(({ systemEffect }) => systemEffect)
  return {
    ...longest,
    turns: turns.length === 0 ? null : turns.reduce((sum, each) => sum + each, 0),
    systemEffect: effects.includes('differ') ? 'differ' : effects.includes('same') ? 'same' : null,
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
  // A fixed order, so that the same values have the same sum.
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
