import type { CommandsReport, TurnsReport, UseCount } from '../../app/analysis/activity.ts'
import type { JobsReport } from '../../app/analysis/analyze-jobs.ts'
import type { FailuresReport, JudgedFailures, ModeCount } from '../../app/analysis/failures.ts'
import { type RuntimeReport, runtimeParts } from '../../app/analysis/runtime.ts'
import { bars, short } from '../../lib/plot.ts'
import { renderDuration } from '../../lib/show-numbers.ts'
import { percent } from '../eval/numbers.ts'
import type { Page, PageTable } from '../eval/page.ts'

/** Rows shown per list; --json has them all. */
const shown = 30

/** Renders a report on jobs as a page. */
export function jobsPage(report: JobsReport): Page {
  const { jobs, trials, solved, runtime, turns, commands, failures } = report
  const judged = failures?.judged ?? null
  return {
    title: 'Jobs',
    paragraphs: [
      `${trials} trials of ${jobs.length} ${jobs.length === 1 ? 'job' : 'jobs'}, ${solved} solved.`,
      ...(turns !== null && turns.withoutTrajectory > 0
        ? [`${turns.withoutTrajectory} trials have no readable trajectory.`]
        : []),
      ...(judged === null ? [] : [judgedText(judged)]),
    ],
    tables: [
      ...(runtime === null ? [] : runtimeTables(runtime)),
      ...(turns === null ? [] : turnTables(turns)),
      ...(commands === null ? [] : commandTables(commands)),
      ...(failures === null ? [] : failureTables(failures)),
    ],
    plots: plotsOf(report),
  }
}

const names = {
  environmentSetup: 'environment setup',
  agentSetup: 'agent setup',
  agentExecution: 'agent execution',
  verifier: 'verification',
  other: 'other',
  total: 'total',
} as const

/** Formats a trial's time, with an extra digit where a second matters. */
function timeText(seconds: number): string {
  return seconds < 10 ? `${seconds.toFixed(1)}s` : renderDuration(seconds)
}

const quantiles = ['mean', 'p10', 'p50', 'p90', 'p95', 'p99', 'max'] as const

function runtimeTables({ seconds, shares, slowest, exceptions, quarters, correlations }: RuntimeReport): PageTable[] {
  return [
    {
      title: 'Seconds',
      header: ['phase', 'trials', ...quantiles, 'share of the time'],
      rows: runtimeParts.flatMap((part) => {
        const found = seconds[part]
        if (found === null) return []
        const share = part === 'total' ? '100.0 %' : percent(shares[part])
        return [[names[part], String(found.count), ...quantiles.map((key) => short(found[key])), share]]
      }),
    },
    {
      title: 'Slowest trials',
      header: ['trial', 'task', 'took', 'mostly', 'exception'],
      rows: slowest.map(({ job, trial, task, totalSec, slowestPart, slowestPartSec, exception }) => [
        `${job}/${trial}`,
        task,
        timeText(totalSec),
        `${names[slowestPart]} (${timeText(slowestPartSec)})`,
        exception ?? '-',
      ]),
    },
    {
      title: 'Exceptions',
      header: ['exception', 'trials', 'share', 'median time', 'for example'],
      rows: exceptions
        .slice(0, shown)
        .map(({ type, trials, share, medianSec, examples }) => [
          type,
          String(trials),
          percent(share),
          timeText(medianSec),
          examples[0] ?? '-',
        ]),
    },
    {
      title: 'Trials by how long they took',
      header: ['quarter', 'trials', 'exceptions', 'solved'],
      rows: quarters.map(({ fromSec, toSec, trials, exceptions, solved }) => [
        `${timeText(fromSec)} to ${timeText(toSec)}`,
        String(trials),
        percent(exceptions / trials),
        percent(solved / trials),
      ]),
    },
    {
      title: 'Rank correlation of the time with',
      header: ['measure', 'rho', 'trials'],
      rows: correlations.map(({ measure, rho, trials }) => [measure, rho.toFixed(2), String(trials)]),
    },
  ]
}

function turnTables({ perTrial, perTurn }: TurnsReport): PageTable[] {
  const rows = (all: TurnsReport['perTrial']) =>
    Object.entries(all).map(([name, found]) => [
      name,
      String(found.count),
      ...quantiles.map((key) => short(found[key])),
      short(found.sum),
    ])
  return [
    { title: 'Per trial', header: ['measure', 'trials', ...quantiles, 'sum'], rows: rows(perTrial) },
    { title: 'Per turn', header: ['measure', 'turns', ...quantiles, 'sum'], rows: rows(perTurn) },
  ]
}

function commandTables({ programs, tools, trials }: CommandsReport): PageTable[] {
  const rows = (all: readonly UseCount[]) =>
    all
      .slice(0, shown)
      .map((each) => [each.name, String(each.uses), percent(each.trials / trials), percent(each.solved / each.trials)])
  const header = ['uses', 'of trials', 'solved of those']
  return [
    { title: 'Programs', header: ['program', ...header], rows: rows(programs) },
    { title: 'Tools', header: ['tool', ...header], rows: rows(tools) },
  ]
}

function failureTables({ unsolved, modes, judged }: FailuresReport): PageTable[] {
  const rows = (all: readonly ModeCount[], of: number) =>
    all.map(({ mode, main, trials, examples: [first] }) => [
      mode,
      `${main} (${percent(main / of)})`,
      String(trials),
      first ? `${first.job}/${first.trial}: ${first.quote.slice(0, 100)}` : '-',
    ])
  const header = ['mode', 'main reason', 'seen in', 'for example']
  const answered = judged === null ? 0 : judged.asked - judged.unanswered
  return [
    { title: `Why ${unsolved} trials were not solved, by rules`, header, rows: rows(modes, unsolved) },
    ...(judged === null
      ? []
      : [
          {
            title: `Why ${answered} trials were not solved, by ${judged.model}`,
            header,
            rows: rows(judged.modes, answered),
          },
        ]),
    {
      title: 'What the modes mean',
      header: ['mode', 'meaning'],
      rows: [...modes, ...(judged?.modes ?? [])].map(({ mode, about }) => [mode, about]),
      onlyInFiles: true,
    },
  ]
}

function judgedText({ model, asked, unanswered, droppedLabels, costUsd }: JudgedFailures): string {
  const cost = costUsd === null ? 'cost unknown' : `$${costUsd.toFixed(2)}`
  return `${model} was asked about ${asked} unsolved trials (${cost}); ${unanswered} replies were not usable, and ${droppedLabels} labels were dropped because the trial does not contain their quote.`
}

function plotsOf({ runtime, commands, failures }: JobsReport): string[] {
  return [
    ...(runtime === null || runtime.seconds.total === null
      ? []
      : [
          bars(
            Object.entries(runtime.shares).map(([part, share]) => ({
              label: names[part as keyof typeof names],
              value: Number((share * 100).toFixed(1)),
            })),
            { title: 'Where the time went', axis: '% of all seconds' },
          ),
        ]),
    ...(commands === null || commands.programs.length === 0
      ? []
      : [
          bars(
            commands.programs.slice(0, 20).map(({ name, uses }) => ({ label: name, value: uses })),
            { title: 'Programs', axis: 'uses' },
          ),
        ]),
    ...(failures === null || failures.modes.length === 0
      ? []
      : [
          bars(
            failures.modes.map(({ mode, main }) => ({ label: mode, value: main })),
            { title: 'Why trials were not solved', axis: 'trials, by their main reason' },
          ),
        ]),
  ]
}
