import type { StageCount } from '../../core/recipe.ts'
import type { RecipeOutcome as RunOutcome } from '../../run/recipe/outcome.ts'
import { countsOf } from '../../run/recipe/report.ts'
import { type RecipeEvent, type RecipeRun, runRecipe } from '../../run/recipe/run-recipe.ts'
import { explainDisk } from '../disk-errors.ts'
import type { RolloutAsk } from './roll-out.ts'
import { stageServices } from './services.ts'
import { refuseUnready } from './start.ts'

export type { RecipeEvent } from '../../run/recipe/run-recipe.ts'

/** What a recipe made, and what each stage took, gave and dropped. */
export interface RecipeOutcome extends RunOutcome {
  readonly stages: readonly StageCount[]
}

export type RecipeToRun = Omit<RecipeRun, 'services' | 'signal' | 'onEvent' | 'refuse'>

/** How a caller follows a recipe while it runs. */
export interface RecipeFollower {
  /** Settings for all trials, and how to follow their progress. */
  readonly trials: RolloutAsk
  readonly onEvent?: ((event: RecipeEvent) => void) | undefined
  readonly signal: AbortSignal
}

/** Runs a recipe with all built-in services. */
export async function performRecipe(run: RecipeToRun, follower: RecipeFollower): Promise<RecipeOutcome> {
  const { trials, signal, onEvent = () => {} } = follower
  const services = stageServices(signal, trials)
  const refuse = run.rehearse ? undefined : await refuseUnready(run, { notify: trials.notify, signal })
  const outcome = await explainDisk(run.dir, () => runRecipe({ ...run, services, signal, refuse, onEvent }))
  return { ...outcome, stages: countsOf(outcome.steps) }
}
