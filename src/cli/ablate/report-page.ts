import { isDeepStrictEqual } from 'node:util'
import type { AblationReport, VariantRow } from '../../app/ablate/report.ts'
import { intervalPlot } from '../../lib/interval-plot.ts'
import { bars } from '../../lib/plot.ts'
import type { Page } from '../eval/page.ts'

/** Renders an ablation as a page: a sentence for each variant, then the table and the plots. */
export function ablationPage(report: AblationReport): Page {
  const { name, rows, summary, missing, baseline, tests, seeds } = report
  const compared = rows.flatMap((row) => (row.comparison === null ? [] : [{ row, comparison: row.comparison }]))
  return {
    title: `Ablation ${name}`,
    paragraphs: [
      ...(summary === null ? [] : [summary]),
      `Compared with ${baseline} by the ${report.measure}, ${tests} ${tests === 1 ? 'comparison' : 'comparisons, corrected for each other (Holm)'}. ${seedWords(seeds)}`,
      ...compared.map(({ row, comparison }) => sentence(row, comparison, report)),
      ...compared.flatMap(({ row, comparison }) =>
        seeds > 1 && comparison.seeds.length === 1
          ? [`${label(row)} was compared on one seed only: its interval says nothing about other seeds.`]
          : [],
      ),
      ...rows
        .filter((row) => row.variant !== baseline && row.comparison === null && row.score && hasBaseline(row, report))
        .map((row) => `${label(row)} is not compared: it has no task and seed in common with ${baseline}.`),
      ...rows.flatMap((row) =>
        row.reasons.length === 0 ? [] : [`The result of ${label(row)} is partial: ${row.reasons.join('; ')}.`],
      ),
      ...(missing.length === 0
        ? []
        : [missing.length === 1 ? '1 cell has no result.' : `${missing.length} cells have no result.`]),
    ],
    tables: tablesOf(report, compared),
    plots: ablationPlots(report).map(({ svg }) => svg),
  }
}

type Compared = { readonly row: VariantRow; readonly comparison: NonNullable<VariantRow['comparison']> }

function tablesOf(report: AblationReport, compared: readonly Compared[]): Page['tables'] {
  const { rows, missing, baseline, seeds } = report
  const show = numbersOf(report)
  const names = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))]
  return [
    {
      title: 'Variants',
      header: [
        'variant',
        'cells',
        'mean (95 %)',
        `difference to ${baseline}`,
        '95 % interval',
        'p, corrected',
        'tasks',
        'verdict',
        ...names,
      ],
      rows: rows.map((row) => [
        label(row),
        `${row.cells.done} of ${row.cells.of}`,
        row.score === null
          ? '-'
          : `${show.value(row.score.mean)} (${show.value(row.score.low)} to ${show.value(row.score.high)})`,
        ...differenceCells(row, baseline, show),
        ...names.map((each) =>
          row.values[each] === undefined ? '-' : String(Number(row.values[each]?.toPrecision(6))),
        ),
      ]),
    },
    {
      title: 'Cells without a result',
      header: ['cell', 'reason'],
      rows: missing.map(({ cell, reason }) => [cell, reason]),
    },
    {
      title: 'Differences by seed',
      header: ['variant', 'seed', 'difference'],
      rows: compared.flatMap(({ row, comparison }) =>
        comparison.seeds.length < 2
          ? []
          : comparison.seeds.map(({ seed, difference }) => [label(row), String(seed), show.difference(difference)]),
      ),
      onlyInFiles: compared.length * seeds > 40,
    },
  ]
}

/** The plots of an ablation by name: differences from the baseline, each variant's result, and its rows. */
export function ablationPlots(report: AblationReport): { readonly name: string; readonly svg: string }[] {
  const { rows, scale, measure, baseline } = report
  const unit = scale === 'share' ? 'percent' : 'number'
  const differences = rows.flatMap((row) =>
    row.comparison === null ? [] : [{ label: label(row), ...row.comparison.difference }],
  )
  const scores = rows.flatMap((row) => (row.score === null ? [] : [{ label: label(row), ...row.score }]))
  const counts = rows.map((row) => ({ label: label(row), value: row.values.rows ?? 0 }))
  const title = `Differences to ${baseline} with 95 % intervals`
  return [
    ...(differences.length === 0
      ? []
      : [
          {
            name: 'differences',
            svg: intervalPlot(differences, { title, axis: scale === 'share' ? 'points' : measure, unit }),
          },
        ]),
    ...(scores.length === 0
      ? []
      : [
          {
            name: 'scores',
            svg: intervalPlot(scores, {
              title: `${measure} with 95 % intervals`,
              axis: scale === 'share' ? '%' : measure,
              unit,
            }),
          },
        ]),
    ...(rows.some(({ values }) => values.rows !== undefined)
      ? [{ name: 'rows', svg: bars(counts, { title: 'Rows of each variant', axis: 'rows' }) }]
      : []),
  ]
}

function label({ variant, factors }: VariantRow): string {
  return [variant, ...Object.entries(factors).map(([name, value]) => `${name}=${value}`)].join(' ')
}

function differenceCells(row: VariantRow, baseline: string, show: ReturnType<typeof numbersOf>): string[] {
  const { comparison } = row
  if (comparison === null) return ['-', '-', '-', '-', withoutComparison(row, baseline)]
  const { difference, adjustedP, verdict } = comparison
  return [
    show.difference(difference.mean),
    `${show.difference(difference.low)} to ${show.difference(difference.high)}`,
    adjustedP.toPrecision(2),
    String(difference.tasks),
    verdict,
  ]
}

/** Whether the baseline with the same factors has a result. */
function hasBaseline({ factors }: VariantRow, { rows, baseline }: AblationReport): boolean {
  return rows.some((row) => row.variant === baseline && isDeepStrictEqual(row.factors, factors) && row.score !== null)
}

function withoutComparison({ variant, score }: VariantRow, baseline: string): string {
  if (score === null) return 'no result'
  return variant === baseline ? 'baseline' : 'not compared'
}

/** Whether a variant is better than the baseline, in one sentence. */
function sentence(
  row: VariantRow,
  { difference, adjustedP, verdict }: Compared['comparison'],
  report: AblationReport,
): string {
  const show = numbersOf(report)
  const p = adjustedP < 0.001 ? 'p < 0.001' : `p = ${adjustedP.toPrecision(2)}`
  const corrected = report.tests > 1 ? ` (corrected for ${report.tests} comparisons)` : ''
  const sure = `95 % interval ${show.difference(difference.low)} to ${show.difference(difference.high)}, ${p}${corrected}, ${difference.tasks} tasks`
  if (verdict === 'undecided')
    return `Undecided: ${label(row)} and ${report.baseline} differ by ${show.difference(difference.mean)}${show.unit}, which may be noise (${sure}).`
  const word = report.scale === 'number' ? (verdict === 'better' ? 'higher' : 'lower') : verdict
  return `${label(row)} is ${word} than ${report.baseline} by ${show.difference(Math.abs(difference.mean)).slice(1)}${show.unit} (${sure}).`
}

function seedWords(seeds: number): string {
  if (seeds > 1) return `Intervals hold for other tasks and for other seeds; there are ${seeds}.`
  return 'With one seed, intervals hold for other tasks; nothing is known about other seeds.'
}

function numbersOf({ scale }: Pick<AblationReport, 'scale'>) {
  const plain = (value: number) => (scale === 'share' ? (value * 100).toFixed(1) : String(Number(value.toPrecision(4))))
  return {
    unit: scale === 'share' ? ' points' : '',
    value: plain,
    difference: (value: number) => `${value < 0 ? '−' : '+'}${plain(Math.abs(value))}`,
  }
}
