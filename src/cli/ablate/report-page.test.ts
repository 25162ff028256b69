import { expect, test } from 'vitest'
import { type AblationReport, reportStudy, type VariantRow } from '../../app/ablate/report.ts'
import { loadStudy } from '../../app/ablate/study.ts'
import { meanInterval } from '../../stats/interval.ts'
import { ablationPage } from './report-page.ts'

const row = (variant: string, mean: number | null): VariantRow => ({
  variant,
  summary: null,
  factors: {},
  cells: { done: mean === null ? 0 : 1, of: 1 },
  score: mean === null ? null : meanInterval(new Map([['task', [mean]]])),
  values: {},
  reasons: [],
  comparison: null,
})

function pageOf(rows: readonly VariantRow[]): { readonly verdicts: unknown; readonly text: string } {
  const report: AblationReport = {
    schema: 'ablate-report/1',
    ...{ name: 'some', summary: null, scale: 'share', measure: 'tasks solved', baseline: 'base', seeds: 1, tests: 0 },
    ...{ rows, missing: [] },
  }
  const { paragraphs, tables } = ablationPage(report)
  return { verdicts: tables[0]?.rows.map((cells) => cells[7]), text: paragraphs.join('\n') }
}

test('a variant with a result but other tasks than the baseline is not compared, and the page says why', () => {
  const { verdicts, text } = pageOf([row('base', 0.5), row('elsewhere', 0.1), row('failed', null)])
  expect(verdicts).toEqual(['baseline', 'not compared', 'no result'])
  expect(text).toContain('elsewhere is not compared: it has no task and seed in common with base.')
  expect(text).not.toContain('failed is not compared')
})

test('without a result of the baseline, the tasks are not blamed', () => {
  const { verdicts, text } = pageOf([row('base', null), row('elsewhere', 0.1)])
  expect(verdicts).toEqual(['no result', 'not compared'])
  expect(text).not.toContain('no task and seed in common')
})

test('what was compared is not said to lack a comparison', async () => {
  const report = await reportStudy(await loadStudy('studies/transfer.yaml'), 'studies/results/transfer')
  const sentences = ablationPage(report).paragraphs.filter((each) => each.includes('is not compared'))
  expect(sentences.map((each) => each.split(' ')[0])).toEqual(['longer-names', 'other-kinds', 'other-subjects'])
})
