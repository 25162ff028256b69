import { measures } from '../../app/eval/run-tally.ts'
import type { RunScore } from '../../app/evaluate.ts'
import type { Spread } from '../../app/traces/trace-stats.ts'
import { phases } from '../../core/trial.ts'
import { intervalPlot } from '../../lib/interval-plot.ts'
import { bars, short } from '../../lib/plot.ts'
import { percent, percentInterval } from './numbers.ts'
import type { Page, PageTable } from './page.ts'

/** Renders the results of jobs as a page. */
export function reportPage(title: string, runs: readonly RunScore[]): Page {
  const isOne = runs.length === 1
  return {
    title,
    paragraphs: runs.flatMap((run) => paragraphsOf(run, isOne)),
    tables: [scoreTable(runs), ...runs.flatMap((run) => tablesOf(run, isOne ? '' : ` of ${run.name}`))],
    plots: plotsOf(runs),
  }
}

function paragraphsOf({ name, state, reasons, accuracy, trials }: RunScore, isOne: boolean): string[] {
  const who = isOne ? '' : `${name}: `
  const worth =
    accuracy === null || accuracy.trials === 0
      ? []
      : [
          `${who}${accuracy.tasks} tasks, ${accuracy.trials} scored trials, worth ${accuracy.effectiveTrials.toFixed(0)} independent ones. Intervals are 95 %.`,
        ]
  const silent =
    trials.noValidReply === 0
      ? []
      : [`${who}${trials.noValidReply} scored trials never got a valid reply from the model; their rewards count.`]
  return [
    ...worth,
    ...(state === 'partial' ? [`${who}partial, and not ranked: ${reasons.join('; ')}.`] : []),
    ...silent,
  ]
}

function scoreTable(runs: readonly RunScore[]): PageTable {
  return {
    title: 'Results',
    header: [
      'run',
      'agent',
      'model',
      'state',
      'accuracy (95 %)',
      'failures as 0',
      'tasks',
      'trials',
      'scored',
      'failed',
    ],
    rows: runs.map(({ name, agent, model, state, accuracy, accuracyOverAll, tasks, trials }) => [
      name,
      agent,
      model ?? '-',
      state,
      percentInterval(accuracy),
      percent(accuracyOverAll),
      String(tasks.length),
      String(trials.trials),
      String(trials.scored),
      String(trials.failed),
    ]),
  }
}

function tablesOf(run: RunScore, of: string): PageTable[] {
  const counts = (values: Readonly<Record<string, number>>) =>
    Object.entries(values).map(([name, count]) => [name, String(count)])
  return [
    {
      title: `Passing in k attempts${of}`,
      header: ['k', 'pass@k (any)', 'pass^k (all)', 'tasks'],
      rows: run.passes.map(({ k, any, all, tasks }) => [String(k), percent(any), percent(all), String(tasks)]),
    },
    {
      title: `Metrics${of}`,
      header: ['metric', 'mean (95 %)', 'tasks with it'],
      rows:
        run.metrics.length < 2
          ? []
          : run.metrics.map((metric) => [metric.name, plainInterval(metric), `${metric.tasks} of ${metric.ofTasks}`]),
    },
    {
      title: `Infrastructure failures${of}`,
      header: ['blamed on', 'code', 'trials'],
      rows: run.failures.map(({ boundary, code, trials }) => [boundary, code, String(trials)]),
    },
    { title: `Why agents stopped${of}`, header: ['reason', 'trials'], rows: counts(run.stops) },
    {
      title: `Per trial${of}`,
      header: ['measure', 'trials', 'mean', 'p10', 'median', 'p90', 'max', 'sum'],
      rows: [
        ...measures.flatMap((name) => spreadRow(measureTitles[name], run.spreads[name])),
        ...phases.flatMap((name) => spreadRow(phaseTitles[name], run.phaseSec[name])),
      ],
    },
    {
      title: `Tasks${of}`,
      header: ['task', 'trials', 'scored', 'mean reward', 'rewards'],
      rows: run.tasks.map(({ task, trials, rewards, mean }) => [
        task,
        String(trials),
        String(rewards.length),
        mean === null ? '-' : mean.toFixed(3),
        rewards
          .slice(0, 50)
          .map((reward) => Number(reward.toFixed(3)))
          .join(' '),
      ]),
      onlyInFiles: run.tasks.length > 40,
    },
  ]
}

const measureTitles = { turns: 'turns', inputTokens: 'input tokens', outputTokens: 'output tokens', costUsd: 'USD' }
const phaseTitles = {
  environmentSetup: 'sandbox setup, s',
  agentSetup: 'agent setup, s',
  agentExecution: 'agent, s',
  verifier: 'verifier, s',
}

function spreadRow(name: string, spread: Spread | null): string[][] {
  if (spread === null) return []
  const { count, mean, p10, p50, p90, max, sum } = spread
  return [[name, String(count), ...[mean, p10, p50, p90, max, sum].map(short)]]
}

function plainInterval({ mean, low, high }: { mean: number; low: number; high: number }): string {
  return `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`
}

const barsShown = 100

function plotsOf(runs: readonly RunScore[]): string[] {
  const scored = runs.flatMap(({ name, accuracy }) => (accuracy === null ? [] : [{ label: name, ...accuracy }]))
  const byTask = runs.map(({ name, tasks }) =>
    bars(
      tasks
        .flatMap(({ task, mean }) => (mean === null ? [] : [{ label: task, value: Number((mean * 100).toFixed(1)) }]))
        .sort((a, b) => a.value - b.value)
        .slice(0, barsShown),
      {
        title: `Mean reward by task${runs.length === 1 ? '' : `, ${name}`}${tasks.length > barsShown ? ' (the hardest)' : ''}`,
        axis: '%',
      },
    ),
  )
  const accuracies = intervalPlot(scored, { title: 'Accuracy with 95 % intervals', axis: '%' })
  return [...(scored.length === 0 ? [] : [accuracies]), ...byTask]
}
