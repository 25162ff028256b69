import { type SearchedVariant, type SearchResult, searchStudy } from '../../app/ablate/search.ts'
import { loadStudy } from '../../app/ablate/study.ts'
import { placeOf } from '../../app/ablate.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { intervalPlot } from '../../lib/interval-plot.ts'
import { type Page, printPage } from '../eval/page.ts'
import { printJson } from '../output.ts'
import { followCells } from './follow-cells.ts'
import { ablateOptions } from './options.ts'
import { writePage } from './report.ts'

/** `ot-agent ablate search`: finds good option values within a budget. */
export default () =>
  ablateOptions()
    .description(
      'Draws candidates from the search space in the file, measures all of them at a low level of a factor, and the remaining ' +
        'ones at the next level. A candidate is dropped when its interval shows that it is worse than the best, or when the ' +
        'budget has no room for it; the report says which.\n' +
        'Run the same command again to resume. Writes search.json, search.md and search.html next to the cells.',
    )
    .option('-n, --concurrency <n>', 'number of cells whose commands run at the same time', wholeNumber(1), 1)
    .option('-q, --quiet', 'do not print the progress of recipes')
    .action(async (file, { out, concurrency, quiet = false, json }) => {
      const study = await loadStudy(file)
      const dir = placeOf(study.name, out)
      const result = await followCells(quiet, (follower) => searchStudy(study, { dir, concurrency }, follower))
      const page = searchPage(result)
      await writePage(dir, 'search', page, result)
      if (json) printJson(result)
      else printPage(page)
    })

/** Renders a search as a page: the remaining variants, then each round. */
function searchPage(result: SearchResult): Page {
  const { name, rounds, factor, spent, budget } = result
  const last = rounds.at(-1)
  const scored = (last?.variants ?? []).flatMap((each) => (each.score === null ? [] : [{ ...each, score: each.score }]))
  const isShare = scored.every(({ score }) => score.low >= 0 && score.high <= 1)
  const shown = (value: number) => (isShare ? (value * 100).toFixed(1) : String(Number(value.toPrecision(4))))
  return {
    title: `Search ${name}`,
    paragraphs: [
      outcome(result),
      `${spent} of a budget of ${budget} (${factor}, summed over variants and seeds) were used.`,
    ],
    tables: rounds.map(({ level, cost, variants }, i) => ({
      title: `Round ${i + 1}: ${factor} ${level}, cost ${cost}`,
      header: ['variant', 'values', 'mean (95 %)', 'behind the best', 'result'],
      rows: variants.map((each) => [
        each.variant,
        Object.entries(each.set)
          .map(([path, value]) => `${path}=${JSON.stringify(value)}`)
          .join(' ') || 'baseline',
        each.score === null ? '-' : `${shown(each.score.mean)} (${shown(each.score.low)} to ${shown(each.score.high)})`,
        each.behind === null
          ? '-'
          : `${shown(each.behind.mean)} (${shown(each.behind.low)} to ${shown(each.behind.high)})`,
        wordOf(each),
      ]),
    })),
    plots: [
      intervalPlot(
        scored.map(({ variant, score }) => ({ label: variant, ...score })),
        {
          title: `Last round, ${factor} ${last?.level ?? ''}`,
          axis: isShare ? '%' : 'mean',
          unit: isShare ? 'percent' : 'number',
        },
      ),
    ],
  }
}

function outcome({ left, ended }: SearchResult): string {
  const [best = '', ...others] = left
  if (others.length === 0) return `${best} is the best: all others were dropped.`
  const why = ended === 'budget' ? 'the budget is used up' : 'the last level has been reached'
  return `Undecided between ${left.length}: ${best} has the highest mean, and ${others.join(', ')} cannot be distinguished from it; ${why}.`
}

const words = {
  interval: 'dropped: worse than the best',
  budget: 'dropped: no room in the budget',
  failed: 'dropped: no result',
} as const

function wordOf({ dropped, behind }: SearchedVariant): string {
  if (dropped !== null) return words[dropped]
  return behind === null ? 'best of the round' : 'kept'
}
