import type { RecipeEvent, RecipeFollower } from '../../app/recipe/perform-recipe.ts'
import type { RolloutAsk } from '../../app/recipe/roll-out.ts'
import { interruptSignal } from '../interrupt.ts'
import { makeStageProgress, type StageProgress } from '../progress/stage-progress.ts'

/** Runs recipe work at the terminal: shows progress, and stops on Ctrl-C. */
export async function followRecipe<T>(
  { quiet, ...trials }: { readonly quiet: boolean } & Omit<RolloutAsk, 'notify' | 'watchTrials'>,
  work: (follower: RecipeFollower, progress: StageProgress) => Promise<T>,
): Promise<T> {
  const interrupt = interruptSignal()
  const progress = makeStageProgress({ screen: process.stderr, quiet })
  const { tell, watchTrials } = progress
  try {
    const follower = {
      trials: { ...trials, notify: tell, watchTrials: () => watchTrials },
      onEvent: (event: RecipeEvent) => quiet || show(event, progress),
      signal: interrupt.signal,
    }
    return await work(follower, progress)
  } finally {
    progress.stop()
    interrupt.stop()
  }
}

function show(event: RecipeEvent, progress: StageProgress): void {
  if (event.kind === 'step-start') {
    const { stages, index, of, rows } = event
    progress.start({ title: stages.join(' + '), index, of, total: rows })
  }
  if (event.kind === 'step-rows') progress.advance(event.rows)
  if (event.kind === 'recheck-start') progress.doing(`rechecking ${event.rows} rows with every filter`)
  if (event.kind === 'recheck-end') progress.doing('')
  if (event.kind === 'step-end') progress.end(event.rows, event.cached)
  if (event.kind === 'log') progress.tell(`  ${event.stage}: ${event.line}`)
}
