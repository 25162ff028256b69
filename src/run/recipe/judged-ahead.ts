import { peekStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { type Judged, judgeRows } from './judge-rows.ts'
import type { LiveStage } from './resolve.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'
import { closeViews, openViews } from './views.ts'

/**
 * Lets consecutive steps of ordered filters share a scan: the first judges for all, and the others find their verdicts
 * here.
 */
export class JudgedAhead {
  private readonly found = new Map<string, { readonly judged: Judged; readonly of: StepOutput }>()

  /** What a filter drops from its step's rows. Also judges for the steps below it if they still have to be made. */
  async judge(at: StepContext, live: LiveStage, below: readonly LiveStage[], input: StepOutput): Promise<Judged> {
    const before = this.found.get(live.id)
    this.found.delete(live.id)
    if (before && haveSamePlaces(before.of, input)) return before.judged
    const views = await openViews(at.sql, [input])
    try {
      const [view] = views
      if (!view) throw new Error('a filter has an input')
      const stages = [live, ...below]
      const [own, ...others] = await judgeRows(at.sql, view, stages, at.contextOf)
      for (const [i, judged] of others.entries()) this.found.set(below[i]?.id ?? '', { judged, of: input })
      if (!own) throw new Error('a filter has a verdict')
      return own
    } finally {
      await closeViews(at.sql, views)
    }
  }
}

/** Whether rows have the same numbers in both; rows that were written separately have new ones. */
function haveSamePlaces(before: StepOutput, now: StepOutput): boolean {
  return (
    before.shards.length === now.shards.length && before.shards.every(({ part }, i) => part === now.shards[i]?.part)
  )
}

/** The consecutive ordered filters directly below the first of some steps, as far as their rows have to be made. */
export async function orderedBelow(
  [first, ...others]: readonly Step[],
  dirOf: (id: string) => string,
): Promise<readonly LiveStage[]> {
  const below: LiveStage[] = []
  if (first?.stages[0]?.stage.kind !== 'ordered-filter') return below
  let above = first.id
  for (const { id, from, stages } of others) {
    const [live] = stages
    if (live?.stage.kind !== 'ordered-filter' || from[0] !== above || (await peekStep(dirOf(id))) !== null) break
    below.push(live)
    above = id
  }
  return below
}
