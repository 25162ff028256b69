import type { StageCount } from '../../core/recipe.ts'
import type { ScoreStatistics } from '../../core/score-statistics.ts'
import { oneLine } from '../../lib/visible.ts'
import { printTable } from '../output.ts'

/** Prints how many rows each stage took, kept and dropped, and why. */
export function printCounts(stages: readonly StageCount[]): void {
  printTable(
    ['stage', 'in', 'out', 'dropped'],
    stages.map(({ id, taken, given, drops }) => [
      id,
      taken === 0 && given > 0 ? '' : String(taken),
      String(given),
      Object.entries(drops)
        .sort(([, a], [, b]) => b - a)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', '),
    ]),
  )
}

/** Number of source columns; smaller sources share the last one. */
const mostSources = 6

/** Prints how many rows of each source remain after every step, largest sources first. */
export function printSources(
  steps: readonly { readonly id: string; readonly sources: Readonly<Record<string, number>> }[],
): void {
  const most = new Map<string, number>()
  for (const { sources } of steps)
    for (const [source, rows] of Object.entries(sources)) most.set(source, Math.max(rows, most.get(source) ?? 0))
  const names = [...most.keys()].sort((a, b) => (most.get(b) ?? 0) - (most.get(a) ?? 0) || (a < b ? -1 : 1))
  if (names.length === 0) return
  const groups = (names.length > mostSources ? names.slice(0, mostSources - 1) : names).map((name) => ({
    ...{ title: oneLine(name), names: [name] },
  }))
  const others = names.slice(groups.length)
  if (others.length > 0) groups.push({ title: `${others.length} others`, names: others })
  process.stdout.write('\n')
  printTable(
    ['rows of', ...groups.map(({ title }) => title)],
    steps.map(({ id, sources }) => {
      const counts = groups.map((group) => group.names.reduce((sum, name) => sum + (sources[name] ?? 0), 0))
      return [id, ...counts.map(String)]
    }),
  )
}

/** Prints statistics of the scores by which stages selected rows, and each stage's cutoff. */
export function printScores(scores: readonly ({ readonly stage: string } & ScoreStatistics)[]): void {
  if (scores.length === 0) return
  process.stdout.write('\n')
  const shown = (value: number | null) => (value === null ? '-' : String(Number(value.toPrecision(4))))
  printTable(
    ['scores of', 'signal', 'count', 'min', 'median', 'mean', 'max', 'kept', 'threshold'],
    scores.map(({ stage, signal, count, min, median, mean, max, kept, threshold, lowest }) => [
      ...[oneLine(stage), oneLine(signal), String(count), shown(min), shown(median), shown(mean), shown(max)],
      ...[String(kept), threshold === null ? '-' : `${lowest ? '<=' : '>='} ${shown(threshold)}`],
    ]),
  )
}
