import type { RecipeEvent, RecipeFollower } from '../../app/recipe/perform-recipe.ts'
import type { RolloutAsk } from '../../app/recipe/roll-out.ts'
import { howToContinue, interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { makeStageProgress, type StageProgress } from '../progress/stage-progress.ts'

interface Following extends Omit<RolloutAsk, 'notify' | 'watchTrials'> {
  readonly quiet: boolean
  /** Whether the same command continues after Ctrl-C; default true. */
  readonly continues?: boolean
}

/** Runs recipe work at the terminal: shows progress, and stops on Ctrl-C. */
export async function followRecipe<T>(
  { quiet, continues = true, ...trials }: Following,
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
  } catch (error) {
    progress.stop()
    if (interrupt.signal.aborted && continues) note(howToContinue())
    throw error
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
