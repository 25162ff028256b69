import { peekStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { type Judged, judgeRows } from './judge-rows.ts'
import type { LiveStage } from './resolve.ts'
import type { StepContext } from './step-run.ts'
import type { Step } from './steps.ts'
import { closeViews, openViews } from './views.ts'

/** Steps of ordered filters that stand one below the other share a scan: the first has it done for all, the others find their verdicts here. */
export class JudgedAhead {
  private readonly found = new Map<string, { readonly judged: Judged; readonly of: StepOutput }>()

  /** What a filter drops of the rows of its step. Those of the steps below it are judged as well, if they have to be. */
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

/** Whether rows have the same numbers in both: those that were written apart have new ones. */
function haveSamePlaces(before: StepOutput, now: StepOutput): boolean {
  return (
    before.shards.length === now.shards.length && before.shards.every(({ part }, i) => part === now.shards[i]?.part)
  )
}

/** The ordered filters that stand one below the other right below the first of some steps, as far as their rows have to be made. */
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
