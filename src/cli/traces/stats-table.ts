import type { PhraseCount, Spread, TraceStats } from '../../app/traces/trace-stats.ts'
import { short } from '../../lib/plot.ts'
import { printTable } from '../output.ts'

/** Rows per list that a terminal shows; --json has them all. */
const shown = 30

/** Prints the statistics for people. */
export function printStats(stats: TraceStats, phrases: readonly PhraseCount[]): void {
  const { traces, trials, withoutTrace, tasks, prompts, systemChanged } = stats
  process.stdout.write(
    `${traces} traces of ${trials} trials of ${tasks.length} tasks; ${withoutTrace} trials left no trace\n`,
  )
  if (trials === 0) return
  if (systemChanged.trials > 0)
    process.stdout.write(
      `agents changed system files in ${systemChanged.trials} trials; in ${systemChanged.differ} of them the tests gave different rewards\n`,
    )
  section(['per trial', 'trials', 'mean', 'min', 'p10', 'median', 'p90', 'max', 'sum'], measureRows(stats))
  section(['outcome', 'trials', 'share'], countRows(stats.outcomes, trials))
  section(['result', 'trials', 'share'], countRows(stats.results, trials))
  if (stats.tracesBySource.size > 1) section(['trace', 'rows', 'share'], countRows(stats.tracesBySource, traces))
  section(phraseHeader, phraseRows(phrases))
  section(
    ['task', 'trials', 'solved', 'mean reward', 'mean turns'],
    tasks.map((task) => [
      task.task,
      String(task.trials),
      `${task.solved} (${percent(task.solved / task.trials)})`,
      task.meanReward?.toFixed(3) ?? '-',
      task.meanTurns?.toFixed(1) ?? '-',
    ]),
  )
  process.stdout.write(
    `\n${prompts.distinct} distinct prompts; ${prompts.acrossTasks.length} of them in more than one task\n`,
  )
  if (prompts.acrossTasks.length > 0)
    section(
      ['prompt', 'trials', 'tasks'],
      prompts.acrossTasks.map(({ digest, trials, tasks }) => [
        digest.slice(0, 12),
        String(trials),
        tasks.slice(0, 4).join(', '),
      ]),
    )
}

function section(header: readonly string[], rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return
  process.stdout.write('\n')
  printTable(header, rows.slice(0, shown))
  if (rows.length > shown) process.stdout.write(`... and ${rows.length - shown} more\n`)
}

/** Turns, tokens and cost, one row each, without what was not measured. */
export function measureRows(stats: TraceStats): string[][] {
  const measures: [string, Spread | null][] = [
    ['turns', stats.turns],
    ['input tokens', stats.inputTokens],
    ['output tokens', stats.outputTokens],
    ['cost, USD', stats.costUsd],
  ]
  return measures.flatMap(([name, spread]) =>
    spread === null
      ? []
      : [
          [
            name,
            String(spread.count),
            ...(['mean', 'min', 'p10', 'p50', 'p90', 'max', 'sum'] as const).map((key) => short(spread[key])),
          ],
        ],
  )
}

export const phraseHeader = ['phrase', 'said by', 'times', 'messages', 'traces']

/** A row for each phrase and role that said it; a phrase without hits gets a row too. */
export function phraseRows(phrases: readonly PhraseCount[]): string[][] {
  return phrases.flatMap(({ phrase, roles }) =>
    roles.length === 0
      ? [[phrase, '-', '0', '0', '0']]
      : roles.map(({ role, times, messages, traces }) => [phrase, role, ...[times, messages, traces].map(String)]),
  )
}

export function countRows(counts: ReadonlyMap<string, number>, all: number): string[][] {
  return [...counts].map(([name, count]) => [name, String(count), percent(count / all)])
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`
}

/** The statistics as JSON. */
export function statsDocument(stats: TraceStats): Readonly<Record<string, unknown>> {
  return {
    schema: 'trace-stats/1',
    ...stats,
    tracesBySource: Object.fromEntries(stats.tracesBySource),
    results: Object.fromEntries(stats.results),
    outcomes: Object.fromEntries(stats.outcomes),
  }
}
