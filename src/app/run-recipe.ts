import { resolve } from 'node:path'
import type { Recipe } from '../core/recipe.ts'
import type { RecipeEvent, RecipeRun } from '../run/recipe/run-recipe.ts'
import { loadRecipe, makeRecipe, type RecipeOptions } from './recipe/load-recipe.ts'
import { performRecipe, type RecipeOutcome } from './recipe/perform-recipe.ts'
import type { RolloutAsk } from './recipe/roll-out.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'

/** How to run a recipe. Everything has a default. */
export interface RecipeRequest
  extends Pick<RecipeOptions, 'set' | 'limit'>,
    Pick<RecipeRun, 'share' | 'until' | 'shardRows' | 'memoryMb' | 'replay' | 'sharedCache'>,
    Pick<RolloutAsk, 'passEnv' | 'restartInterrupted'> {
  /** Where rows and results are stored (default: runs/NAME); the same directory resumes. */
  readonly out?: string
  /** The folder that relative paths in the recipe start from (default: that of its file, or the working directory). */
  readonly folder?: string
}

export type RecipeProgress = RecipeEvent | { readonly kind: 'note'; readonly text: string }

export interface RecipeResult extends Pick<RecipeOutcome, 'stages' | 'sinks' | 'cached' | 'waitingAt'> {
  readonly dir: string
}

/** Makes a recipe's dataset, or the part still missing, like `ot-agent recipe run`. `recipe` is an object or a file. */
export function runRecipe(
  recipe: Recipe | string,
  request: RecipeRequest = {},
  control: RunControl = {},
): Running<RecipeProgress, RecipeResult> {
  return new Running(async (emit) => {
    const { set, limit, out, folder = process.cwd(), passEnv, restartInterrupted, ...run } = request
    const made = await (typeof recipe === 'string'
      ? loadRecipe(recipe, { set, limit })
      : makeRecipe(recipe, { where: `recipe ${recipe.name}`, folder }, { set, limit }))
    const dir = resolve(out ?? `runs/${made.lock.name}`)
    const notify = (text: string) => emit({ kind: 'note', text })
    const { steps: _, ...outcome } = await performRecipe(
      { ...run, recipe: made, dir },
      {
        trials: { notify, passEnv, restartInterrupted },
        onEvent: emit,
        signal: control.signal ?? new AbortController().signal,
      },
    )
    return { dir, ...outcome }
  })
}
