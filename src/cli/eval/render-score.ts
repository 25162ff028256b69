import type { JobScore } from '../../app/eval/score-job.ts'
import type { Interval } from '../../core/clustered-interval.ts'
import { oneLine } from '../../lib/visible.ts'

/** A score as a short page of Markdown. */
export function renderScore(report: JobScore): string {
  const { scored, failed, cancelled } = report.trials
  const lines = [
    `# ${oneLine(report.job)}`,
    '',
    `Agent ${list(report.agents)}, model ${list(report.models)}.`,
    '',
    `- score: ${renderInterval(report.score)}`,
    `- at least ${percent(report.leastScore)}, if every infrastructure failure counted as 0`,
    ...Object.entries(report.passAtK).map(([name, value]) => `- ${name}: ${percent(value)}`),
    `- trials: ${scored} scored, ${failed} failed, ${cancelled} cancelled`,
    ...Object.entries(report.failures).map(([code, count]) => `- failed as ${oneLine(code)}: ${count}`),
    ...(report.costUsd === null ? [] : [`- cost: ${report.costUsd.toFixed(2)} USD`]),
  ]
  return `${lines.join('\n')}\n`
}

/** `44.8 % ± 3.1 (89 tasks, 267 trials)`. */
export function renderInterval(interval: Interval | null): string {
  if (interval === null) return 'nothing was scored'
  const { mean, plusMinus, tasks, trials } = interval
  const sure = Number.isNaN(plusMinus) ? 'no interval for one task' : `± ${(plusMinus * 100).toFixed(1)}`
  return `${percent(mean)} ${sure} (${tasks} tasks, ${trials} trials)`
}

function percent(value: number | null): string {
  return value === null ? 'unknown' : `${(value * 100).toFixed(1)} %`
}

function list(names: readonly string[]): string {
  return names.map(oneLine).join(', ') || 'none'
}
