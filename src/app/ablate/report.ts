import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { makeRandom } from '../../lib/random.ts'
import { holm } from '../../stats/corrections.ts'
import { type Interval, meanInterval, type RewardsByTask } from '../../stats/interval.ts'
import { compareSeeded, pooled, type SeededComparison, type SeedResult } from '../../stats/seeded.ts'
import { verdictOf } from '../../stats/verdict.ts'
import { type Cell, cellDir, cellsOf, labelOf, loadIndex } from './cells.ts'
import { type CellResult, loadResult } from './result.ts'
import { failureOf } from './run.ts'
import type { FactorValue, Study } from './study.ts'

/** A variant compared with the baseline under the same factors. */
export interface VariantComparison extends Omit<SeededComparison, 'verdict'> {
  /** Corrected for the number of comparisons in the report (Holm). */
  readonly adjustedP: number
  readonly verdict: 'better' | 'worse' | 'undecided'
}

/** One variant with one choice of the factors. */
export interface VariantRow {
  readonly variant: string
  readonly summary: string | null
  readonly factors: Readonly<Record<string, FactorValue>>
  /** The number of finished cells and of all cells. */
  readonly cells: { readonly done: number; readonly of: number }
  readonly score: Interval | null
  /** Means over the cells of their other numbers. */
  readonly values: Readonly<Record<string, number>>
  /** Why its result is partial; empty if complete. */
  readonly reasons: readonly string[]
  /** Null for the baseline, or without a result to compare. */
  readonly comparison: VariantComparison | null
}

export interface AblationReport {
  readonly schema: 'ablate-report/1'
  readonly name: string
  readonly summary: string | null
  /** `share`: values from 0 to 1, shown as percentages. */
  readonly scale: 'share' | 'number'
  readonly measure: string
  readonly baseline: string
  readonly seeds: number
  /** How many comparisons were corrected together. */
  readonly tests: number
  readonly rows: readonly VariantRow[]
  /** Cells without a result. */
  readonly missing: readonly { readonly cell: string; readonly reason: string }[]
}

export interface Measured {
  readonly cell: Cell
  readonly result: CellResult | null
  /** Why there is no result. */
  readonly reason: string | null
}

/** The cells of a study with the results so far. */
export async function loadMeasured(study: Study, dir: string): Promise<Measured[]> {
  const index = new Map((await loadIndex(dir)).map((cell) => [labelOf(cell), cell.id]))
  const measured: Measured[] = []
  for (const cell of cellsOf(study)) {
    const id = index.get(labelOf(cell))
    const result = id === undefined ? null : await loadResult(cellDir(dir, id))
    const reason = id === undefined ? 'not run yet' : ((await failureOf(dir, id)) ?? 'not finished')
    measured.push({ cell, result, reason: result === null ? reason : null })
  }
  return measured
}

/** Compares every variant with the baseline over the finished cells. */
export async function reportStudy(study: Study, dir: string): Promise<AblationReport> {
  const measured = await loadMeasured(study, dir)
  const missing = measured.flatMap(({ cell, reason }) => (reason === null ? [] : [{ cell: labelOf(cell), reason }]))
  if (measured.every(({ result }) => result === null))
    throw new UserError(
      `${dir}: expected results of ${study.name}, found none`,
      `ot-agent ablate run ${study.file}${dir === resolve('runs', study.name) ? '' : ` -o ${dir}`} makes them`,
    )
  const rows = compareRows(study, measured)
  const values = measured.flatMap(({ result }) => [...(result?.tasks.values() ?? [])].flat())
  return {
    schema: 'ablate-report/1',
    name: study.name,
    summary: study.summary ?? null,
    scale: values.every((value) => value >= 0 && value <= 1) ? 'share' : 'number',
    measure: measureOf(study),
    baseline: study.baseline,
    seeds: study.seeds.length,
    tests: rows.filter(({ comparison }) => comparison !== null).length,
    rows,
    missing,
  }
}

/** What the values measure, for people. */
function measureOf({ outcome, measure }: Pick<Study, 'outcome' | 'measure'>): string {
  if (measure !== undefined) return measure
  if (outcome.teacher !== undefined) return `reward of the trials of ${outcome.teacher}`
  if (outcome.rows) return `${outcome.rows.measure} of the rows${outcome.rows.stage ? ` of ${outcome.rows.stage}` : ''}`
  return 'result of the commands'
}

function compareRows(study: Study, measured: readonly Measured[]): VariantRow[] {
  const groups = new Map<string, Measured[]>()
  for (const each of measured) {
    const key = rowKey(each.cell)
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  const resultsOf = (variant: string, factors: Cell['factors']) =>
    seedResults(study, groups.get(rowKey({ variant, factors })) ?? [])
  const plain = [...groups.values()].map((cells) => {
    const [
      {
        cell: { variant, factors },
      } = { cell: { variant: '', factors: {} } },
    ] = cells
    const results = resultsOf(variant, factors)
    const base = variant === study.baseline ? [] : resultsOf(study.baseline, factors)
    return { variant, factors, cells, results, found: compareSeeded(results, base, makeRandom(1, 'ablate').next) }
  })
  const tested = plain.flatMap(({ found }) => found ?? [])
  const adjusted = holm(tested.map(({ p }) => p))
  return plain.map(({ variant, factors, cells, results, found }): VariantRow => {
    const finished = cells.flatMap(({ result }) => result ?? [])
    const adjustedP = found === null ? 1 : (adjusted[tested.indexOf(found)] ?? 1)
    return {
      variant,
      summary: study.variants.find(({ name }) => name === variant)?.change.summary ?? null,
      factors,
      cells: { done: finished.length, of: cells.length },
      score: meanInterval(pooled(results)),
      values: meanValues(finished),
      reasons: [...new Set(finished.flatMap(({ reasons }) => reasons))],
      comparison: found && { ...found, adjustedP, verdict: wordOf(verdictOf(found.difference, adjustedP)) },
    }
  })
}

function rowKey({ variant, factors }: Pick<Cell, 'variant' | 'factors'>): string {
  return labelOf({ variant, factors, seed: null })
}

/** Tasks made under different seeds are different tasks, even if they share names. */
export function seedResults(study: Study, cells: readonly Measured[]): SeedResult[] {
  const isOwn = study.seedsOf !== 'outcome' && !study.outcome.commands
  return cells.flatMap(({ cell: { seed }, result }) => {
    if (result === null) return []
    const rewards: RewardsByTask = isOwn
      ? new Map([...result.tasks].map(([task, values]) => [`${seed ?? ''}:${task}`, values]))
      : result.tasks
    return [{ seed: seed ?? 0, rewards }]
  })
}

function wordOf(verdict: SeededComparison['verdict']): VariantComparison['verdict'] {
  return verdict === 'first' ? 'better' : verdict === 'second' ? 'worse' : 'undecided'
}

function meanValues(results: readonly CellResult[]): Readonly<Record<string, number>> {
  const names = [...new Set(results.flatMap(({ values }) => Object.keys(values)))]
  return Object.fromEntries(
    names.map((name) => {
      const known = results.flatMap(({ values }) => values[name] ?? [])
      return [name, known.reduce((sum, value) => sum + value, 0) / known.length]
    }),
  )
}
