import type { Expectation, StageContext } from '../../core/stage.ts'
import type { LiveStage } from './resolve.ts'
import { naming } from './stage-failure.ts'

/** What every stage of a recipe would take, give and cost. */
export interface StageForecast {
  readonly id: string
  readonly taken: number | null
  readonly expected: Expectation
}

type ContextOf = (stage: LiveStage) => StageContext

/** Asks each stage in turn for its forecast. Touches nothing. */
export async function forecast(
  stages: readonly LiveStage[],
  limit: number | null,
  contextOf: ContextOf,
): Promise<readonly StageForecast[]> {
  const whole = await wholeRows(stages, limit, contextOf)
  return ask(stages, limit, (live) => ({ ...contextOf(live), ...whole(live) }))
}

/** In a run with a limit, what each stage is told about the run without one. */
export async function wholeRows(
  stages: readonly LiveStage[],
  limit: number | null,
  contextOf: ContextOf,
): Promise<(stage: LiveStage) => Pick<StageContext, 'wholeRows'>> {
  if (limit === null) return () => ({})
  const taken = new Map((await ask(stages, null, contextOf)).map((each) => [each.id, each.taken]))
  return ({ id }) => ({ wholeRows: taken.get(id) ?? null })
}

async function ask(stages: readonly LiveStage[], limit: number | null, contextOf: ContextOf): Promise<StageForecast[]> {
  const given = new Map<string, number | null>()
  const all: StageForecast[] = []
  for (const live of stages) {
    const taken = live.form === 'source' ? null : sum(live.from.map((id) => given.get(id) ?? null))
    const told = await naming({ stages: [live] }, async () =>
      'expect' in live.stage ? live.stage.expect?.(taken, contextOf(live)) : undefined,
    )
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
