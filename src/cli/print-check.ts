import type { Check } from '../app/engine/check-model.ts'
import { oneLine } from '../lib/visible.ts'

/** Prints what a check of a model or agent found. */
export function printCheck({ ok, says, details }: Check): void {
  process.stdout.write(`${ok ? '✓' : '✗'} ${oneLine(says)}\n`)
  if (Array.isArray(details.models)) process.stdout.write(`  models: ${oneLine(details.models.join(', '))}\n`)
}

/** 2 if a name or key is wrong, 3 if the server or the trial failed. */
export function exitCodeOf(checks: readonly Check[]): number {
  const failed = checks.find(({ ok }) => !ok)
  return failed === undefined ? 0 : failed.blame === 'user' ? 2 : 3
}
