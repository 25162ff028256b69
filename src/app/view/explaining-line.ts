import { mainReward } from '../../core/rewards.ts'
import type { TrialRecord } from '../../core/trial.ts'

/** Words in log lines that report a problem. */
const trouble =
  /error|fail|refus|died|denied|can ?not|could not|not found|no such|ran out|did not|timed? ?out|given up|killed|exceed|diverged|never|exited with [1-9]/i

/**
 * The line of a trial's log that best explains its failure; null for a trial that went well, or if there is no such
 * line.
 */
export function explainingLine({ end }: TrialRecord, lines: readonly string[]): string | null {
  if (end.kind === 'scored' && (end.rewards === null || mainReward(end.rewards) >= 1)) return null
  // The last line repeats the end, which may quote a task or an agent; earlier lines say why.
  const before = lines.filter((line) => !isEnd(line))
  const telling = before.findLast((line) => trouble.test(textOf(line)))
  return telling ?? (end.kind === 'failed' ? (lines.findLast(isEnd) ?? null) : null)
}

function textOf(line: string): string {
  return line.replace(/^\S+Z /, '')
}

function isEnd(line: string): boolean {
  return /^(failed at \w+: |scored |cancelled$|trial \S+: task )/.test(textOf(line))
}
