import { mainReward } from '../../core/rewards.ts'
import type { TrialRecord } from '../../core/trial.ts'

/** What lines say that tell of something that went wrong. */
const trouble =
  /error|fail|refus|died|denied|can ?not|could not|not found|no such|ran out|did not|timed? ?out|given up|killed|exceed|diverged|never|exited with [1-9]/i

/** The line of a trial's log that says most about its failure; null for a trial that went well, or when none does. */
export function explainingLine({ end }: TrialRecord, lines: readonly string[]): string | null {
  if (end.kind === 'scored' && (end.rewards === null || mainReward(end.rewards) >= 1)) return null
  // The last line repeats the end, in which words of a task or an agent may stand; what came before it says why.
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
