import type { Measure, PhraseCount, TraceTally } from '../../app/traces/trace-stats.ts'
import { bars, histogram } from '../../lib/plot.ts'
import { type PageTable, renderHtml } from '../eval/page.ts'
import { countRows, measureRows, phraseHeader, phraseRows } from './stats-table.ts'

export interface NamedPlot {
  readonly name: string
  readonly svg: string
}

const measures: readonly [Measure, title: string, axis: string][] = [
  ['turns', 'Turns', 'turns of the agent, per trial'],
  ['inputTokens', 'Input tokens', 'tokens read by the model, per trial'],
  ['outputTokens', 'Output tokens', 'tokens written by the model, per trial'],
  ['costUsd', 'Cost', 'USD, per trial'],
]

/** How many bars fit on a page. */
const barsShown = 40

/** Every plot that has data; the names are safe as file names. */
export function plotsOf(tally: TraceTally): NamedPlot[] {
  const stats = tally.stats()
  const counts = (map: ReadonlyMap<string, number>) =>
    [...map].slice(0, barsShown).map(([label, value]) => ({ label, value }))
  const rates = stats.tasks
    .map(({ task, solved, trials }) => ({ label: task, value: Number(((100 * solved) / trials).toFixed(1)) }))
    .sort((a, b) => a.value - b.value)
  const histograms = measures.flatMap(([measure, title, axis]): NamedPlot[] => {
    const values = tally.values(measure)
    return values.length === 0 ? [] : [{ name: fileNames[measure], svg: histogram(values, { title, axis }) }]
  })
  return [
    { name: 'outcomes', svg: bars(counts(stats.outcomes), { title: 'Results of the trials', axis: 'trials' }) },
    { name: 'results', svg: bars(counts(stats.results), { title: 'Results', axis: 'trials' }) },
    ...histograms,
    {
      name: 'solved-by-task',
      svg: bars(rates.slice(0, barsShown), {
        title: `Solved, by task${rates.length > barsShown ? ' (the hardest)' : ''}`,
        axis: '% of trials',
      }),
    },
  ]
}

const fileNames: Readonly<Record<Measure, string>> = {
  turns: 'turns',
  inputTokens: 'input-tokens',
  outputTokens: 'output-tokens',
  costUsd: 'cost-usd',
}

/** Renders one self-contained page of tables and plots, without scripts. */
export function renderPage(tally: TraceTally, phrases: readonly PhraseCount[]): string {
  const stats = tally.stats()
  const tables = [
    table('Per trial', ['measure', 'trials', 'mean', 'min', 'p10', 'median', 'p90', 'max', 'sum'], measureRows(stats)),
    table('Outcomes', ['outcome', 'trials', 'share'], countRows(stats.outcomes, stats.trials)),
    table('Results', ['result', 'trials', 'share'], countRows(stats.results, stats.trials)),
    table('Phrases', phraseHeader, phraseRows(phrases)),
    table(
      'Tasks',
      ['task', 'trials', 'solved'],
      stats.tasks.map(({ task, trials, solved }) => [task, String(trials), String(solved)]),
    ),
    table(
      'Prompts of more than one task',
      ['prompt', 'trials', 'tasks'],
      stats.prompts.acrossTasks.map(({ digest, trials, tasks }) => [digest, String(trials), tasks.join(', ')]),
    ),
  ]
  return renderHtml({
    title: 'Traces',
    paragraphs: [
      `${stats.traces} traces of ${stats.trials} trials of ${stats.tasks.length} tasks; ${stats.withoutTrace} trials left no trace.`,
    ],
    tables,
    plots: plotsOf(tally).map(({ svg }) => svg),
  })
}

/** How many rows fit on a page. */
const rowsShown = 1000

function table(title: string, header: readonly string[], rows: readonly (readonly string[])[]): PageTable {
  return { title, header, rows: rows.slice(0, rowsShown) }
}
