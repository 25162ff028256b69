import type { ComparedPair, EvalComparison } from '../../app/evaluate.ts'
import { intervalPlot } from '../../lib/interval-plot.ts'
import { histogram } from '../../lib/plot.ts'
import { percentInterval, points } from './numbers.ts'
import type { Page, PageTable } from './page.ts'

/** Renders a comparison as a page; its first paragraph says whether the runs differ. */
export function comparePage({ runs, pairs }: EvalComparison): Page {
  const name = (at: number) => runs[at]?.name ?? ''
  const versus = ({ first, second }: ComparedPair) => `${name(first)} − ${name(second)}`
  const differences = pairs.map((pair) => ({ label: versus(pair), ...pair.difference }))
  return {
    title: runs.length === 2 ? `${name(0)} and ${name(1)}` : `Comparison of ${runs.length} runs`,
    paragraphs: [...pairs.map(({ sentence }) => sentence), ...pairs.flatMap((pair) => leftOut(pair, versus(pair)))],
    tables: [
      {
        title: 'Runs',
        header: ['rank', 'run', 'agent', 'model', 'state', 'accuracy (95 %)'],
        rows: runs.map(({ rank, name: run, agent, model, state, accuracy }) => [
          rank === null ? 'not ranked' : String(rank),
          ...[run, agent, model ?? '-', state, percentInterval(accuracy)],
        ]),
      },
      {
        title: 'Differences, in points',
        header: ['pair', 'difference', '95 % interval', 'p', 'p, corrected', 'tasks', 'trials', 'verdict'],
        rows: pairs.map((pair) => [
          versus(pair),
          points(pair.difference.mean),
          `${points(pair.difference.low)} to ${points(pair.difference.high)}`,
          `${pair.p.toPrecision(2)}${pair.exact ? ' (exact)' : ''}`,
          pair.adjustedP.toPrecision(2),
          String(pair.difference.tasks),
          String(pair.difference.trials),
          verdictText(pair),
        ]),
      },
      ...pairs.map((pair) => taskTable(pair, versus(pair))),
    ],
    plots: [
      intervalPlot(differences, { title: 'Differences with 95 % intervals', axis: 'points' }),
      ...pairs
        .filter(({ bootstrap }) => bootstrap.sample.some((value) => value !== bootstrap.sample[0]))
        .slice(0, 20)
        .map((pair) =>
          histogram(
            pair.bootstrap.sample.map((value) => value * 100),
            { title: `${versus(pair)}: tasks resampled (bootstrap)`, axis: 'points' },
          ),
        ),
    ],
  }
}

function verdictText({ verdict }: ComparedPair): string {
  return verdict === 'undecided' ? 'undecided' : `the ${verdict} is better`
}

function leftOut({ leftOut: { onlyFirst, onlySecond, changed } }: ComparedPair, versus: string): string[] {
  const parts = [
    ...(onlyFirst > 0 ? [`${onlyFirst} tasks scored only in the first`] : []),
    ...(onlySecond > 0 ? [`${onlySecond} tasks scored only in the second`] : []),
    ...(changed > 0 ? [`${changed} tasks with the same name but different files`] : []),
  ]
  return parts.length === 0 ? [] : [`Not compared in ${versus}: ${parts.join(', ')}.`]
}

/** The tasks on which two runs differ, largest difference first. */
function taskTable({ tasks }: ComparedPair, versus: string): PageTable {
  const differing = tasks
    .filter(({ first, second }) => first !== second)
    .sort((a, b) => Math.abs(b.first - b.second) - Math.abs(a.first - a.second) || (a.task < b.task ? -1 : 1))
  return {
    title: `Tasks that differ, ${versus}`,
    header: ['task', 'first', 'second', 'difference'],
    rows: differing.map(({ task, first, second }) => [
      ...[task, first.toFixed(3), second.toFixed(3)],
      points(first - second),
    ]),
    onlyInFiles: differing.length > 20,
  }
}
