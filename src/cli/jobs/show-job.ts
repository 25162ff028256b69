import { renderJudge } from '../../app/job/judge.ts'
import type { GroupReport, JobReport } from '../../app/jobs/job-report.ts'
import { describeEnd, describeRewards, type TrialRow } from '../../app/jobs/trial-row.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { toLocalNaive } from '../../lib/time.ts'
import { oneLine } from '../../lib/visible.ts'
import { printTable } from '../output.ts'
import { renderNoValidReply, renderPassAtK } from '../progress/progress.ts'

/** Prints a report for people: the job, its groups, its trials, and anything they should know about them. */
export function printReport(report: JobReport): void {
  process.stdout.write(`${headOf(report).map(oneLine).join('\n')}\n`)
  if (report.trials.length === 0) return
  process.stdout.write('\n')
  const header = [
    'group',
    'trials',
    'scored',
    'failed',
    'cancelled',
    'mean of scored',
    'mean of all',
    'metrics',
    'pass@k',
  ]
  printTable(header, report.groups.map(groupCells))
  process.stdout.write('\n')
  printTable(['trial', 'end', 'reward', 'blame', 'took', 'retries', 'isolation'], report.trials.map(trialCells))
  const counts = new Map<string, number>()
  for (const text of report.trials.flatMap(({ notes }) => notes)) counts.set(text, (counts.get(text) ?? 0) + 1)
  for (const [text, count] of counts) {
    process.stdout.write(`note: ${oneLine(text)} (${count} of ${report.trials.length} trials)\n`)
  }
}

function headOf(report: JobReport): string[] {
  const { name, state, dir, planned, trials, startedAt, finishedAt, tokens, costUsd, judge } = report
  const local = (utc: string) => toLocalNaive(utc).slice(0, 19).replace('T', ' ')
  const spent = [tokens.input, tokens.output].every((count) => count === null)
    ? []
    : [
        `tokens: ${renderCount(tokens.input ?? 0)} in, ${renderCount(tokens.output ?? 0)} out${costUsd === null ? '' : `, $${costUsd.toFixed(2)}`}`,
      ]
  return [
    `${name}: ${state}, ${trials.length} of ${planned ?? '?'} trials ended`,
    dir,
    `started ${startedAt === null ? '-' : local(startedAt)}${finishedAt === null ? '' : `, finished ${local(finishedAt)}`}`,
    ...spent,
    ...(judge ? [renderJudge(judge)] : []),
    ...[renderNoValidReply(report.all)].filter((line) => line !== null),
  ]
}

function groupCells(group: GroupReport): string[] {
  const failures = Object.entries(group.failedByBoundary).map(([boundary, count]) => `${boundary} ${count}`)
  const numbers = (values: Readonly<Record<string, number>>) =>
    Object.entries(values).map(([key, value]) => `${key} ${value.toFixed(3)}`)
  const several =
    group.rewardMeans.length < 2
      ? []
      : group.rewardMeans.map(
          ({ name, mean, tasks, ofTasks }) =>
            `${name} ${mean.toFixed(3)}${tasks < ofTasks ? ` (${tasks} of ${ofTasks} tasks)` : ''}`,
        )
  return [
    group.key,
    String(group.trials),
    String(group.scored),
    group.failed === 0 ? '0' : `${group.failed} (${failures.join(', ')})`,
    String(group.cancelled),
    group.meanOverScored?.toFixed(3) ?? '-',
    group.meanOverAll?.toFixed(3) ?? '-',
    (several.length > 0 ? several : group.metrics.flatMap(numbers)).join(', ') || '-',
    renderPassAtK(Object.entries(group.passAtK).map(([k, value]) => [Number(k), value])),
  ]
}

function trialCells(row: TrialRow): string[] {
  return [
    row.name,
    describeEnd(row),
    describeRewards(row.rewards),
    row.boundary === null ? '-' : `${row.boundary}: ${row.code}`,
    renderDuration(row.durationSec),
    String(row.retries),
    row.isolation ?? '-',
  ]
}
