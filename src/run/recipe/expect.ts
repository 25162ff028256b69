import type { Expectation, StageContext } from '../../core/stage.ts'
import type { LiveStage } from './resolve.ts'

/** What every stage of a recipe would take, give and cost. */
export interface StageForecast {
  readonly id: string
  readonly taken: number | null
  readonly expected: Expectation
}

/** Asks each stage in turn what to expect of it. Touches nothing. */
export async function forecast(
  stages: readonly LiveStage[],
  limit: number | null,
  contextOf: (stage: LiveStage) => StageContext,
): Promise<readonly StageForecast[]> {
  const given = new Map<string, number | null>()
  const all: StageForecast[] = []
  for (const live of stages) {
    const taken = live.form === 'source' ? null : sum(live.from.map((id) => given.get(id) ?? null))
    const told = 'expect' in live.stage ? await live.stage.expect?.(taken, contextOf(live)) : undefined
    const expected = told ?? { rows: live.form === 'source' ? null : taken }
    const rows = live.form === 'source' && limit !== null ? Math.min(limit, expected.rows ?? limit) : expected.rows
    given.set(live.id, rows)
    all.push({ id: live.id, taken, expected: { ...expected, rows } })
  }
  return all
}

function sum(numbers: readonly (number | null)[]): number | null {
  return numbers.reduce<number | null>((total, each) => (total === null || each === null ? null : total + each), 0)
}
