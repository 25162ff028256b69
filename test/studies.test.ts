import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reportStudy, type VariantRow } from '../src/app/ablate/report.ts'
import { loadStudy } from '../src/app/ablate/study.ts'

const page = readFileSync('docs/results.md', 'utf8')

test.each(readdirSync('studies/results'))('docs/results.md says what the cells of %s say', async (name) => {
  const study = await loadStudy(join('studies', `${name}.yaml`))
  const { rows } = await reportStudy(study, join('studies/results', name))
  const measured = rows.filter(({ cells }) => cells.done > 0)
  const lines = measured.map((row) => lineOf(row, study.baseline))
  expect(lines.filter((line) => !page.includes(line))).toEqual([])
})

test('no result is worse than another for having fewer trials: each has all tasks of its study', async () => {
  for (const name of readdirSync('studies/results')) {
    const cells = readdirSync(join('studies/results', name, 'cells'))
    const { power } = await loadStudy(join('studies', `${name}.yaml`))
    for (const cell of cells) {
      const { tasks, values } = JSON.parse(
        readFileSync(join('studies/results', name, 'cells', cell, 'result.json'), 'utf8'),
      ) as { tasks: Record<string, number[]>; values: Record<string, number> }
      expect([Object.keys(tasks).length, values.new_unscored ?? values.unscored]).toEqual([power.tasks, 0])
      const solved = Object.values(tasks).filter(([reward]) => reward === 1).length
      // Only cells of trainers/small have their own share.
      expect(values.new_solved ?? solved / power.tasks!).toBeCloseTo(solved / power.tasks!)
    }
  }
})

function lineOf({ variant, cells, score, comparison }: VariantRow, baseline: string): string {
  const { mean, low, high } = comparison?.difference ?? { mean: 0, low: 0, high: 0 }
  const change = comparison === null ? '' : `${signed(mean)} (${signed(low)} to ${signed(high)})`
  const share = (value = 0) => (100 * value).toFixed(1)
  return `| ${variant} | ${cells.done} | ${share(score?.mean)} % (${share(score?.low)} to ${share(score?.high)}) | ${change} | ${comparison?.verdict ?? (variant === baseline ? 'baseline' : 'other tasks')} |`
}

function signed(value: number): string {
  const text = (100 * Math.abs(value)).toFixed(1)
  return value < 0 ? `−${text}` : `+${text}`
}
