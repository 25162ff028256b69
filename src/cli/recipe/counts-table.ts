import type { StageCount } from '../../core/recipe.ts'
import { printTable } from '../output.ts'

/** Prints what every stage took, gave and dropped, and why. */
export function printCounts(stages: readonly StageCount[]): void {
  printTable(
    ['stage', 'taken', 'given', 'dropped'],
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
