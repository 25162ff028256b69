import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { PlanContext } from '../../run/launch/plan.ts'
import { planRecipe } from '../../run/launch/plan-recipe.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { isUndivided, planSteps } from '../../run/recipe/steps.ts'
import { loadRecipe } from '../recipe/load-recipe.ts'
import type { PlannedJobs } from './datagen.ts'

/** Turns settings into the jobs that run a recipe, its shards shared by the tasks of arrays. */
export async function recipeJobs(at: PlanContext, settings: Settings): Promise<PlannedJobs> {
  const file = resolve(settings.required('recipe', 'for example --recipe recipes/demo.ts'))
  const shards = settings.number('shards') ?? 1
  if (shards < 1)
    throw new UserError(`--shards: expected at least 1, got ${shards}`, 'number of processes that share the recipe')
  const extra = settings.words('recipe_extra_args')
  const { stages } = await loadRecipe(file, { set: valuesOf(extra, '--set') })
  const jobs = planRecipe(at, {
    file,
    extra,
    out: resolve(settings.text('recipe_output_dir') ?? `${at.experimentsDir}/outputs/recipe`),
    shards,
    throttle: settings.number('array_max') ?? shards,
    steps: planSteps(stages).map((step) => ({ id: step.id, undivided: isUndivided(step) })),
  })
  return { jobs, files: {}, notes: [] }
}

function valuesOf(words: readonly string[], flag: string): string[] {
  return words.flatMap((word, i) =>
    word.startsWith(`${flag}=`) ? [word.slice(flag.length + 1)] : words[i - 1] === flag ? [word] : [],
  )
}
