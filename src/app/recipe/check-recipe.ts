import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { RecipeLock } from '../../core/recipe.ts'
import { forecast, type StageForecast } from '../../run/recipe/expect.ts'
import { loadRecipe, type RecipeOptions, warningsOf } from './load-recipe.ts'
import { findMissing, findRoom, type Missing } from './requirements.ts'
import { contextBefore } from './start.ts'

export type { StageForecast } from '../../run/recipe/expect.ts'
export type { Missing } from './requirements.ts'

export interface CheckedRecipe {
  readonly lock: RecipeLock
  /** What each stage would take, give and cost; null if missing files are needed to tell. */
  readonly forecast: readonly StageForecast[] | null
  readonly missing: readonly Missing[]
  /** Oddities that do not keep it from running. */
  readonly warnings: readonly string[]
}

/** Reports what a recipe would do, and what it lacks. Runs and writes nothing; `offline` makes no network requests. */
export async function checkRecipe(
  file: string,
  { out, offline = false, ...options }: RecipeOptions & { readonly out?: string; readonly offline?: boolean },
): Promise<CheckedRecipe> {
  const { stages, lock, ...recipe } = await loadRecipe(file, options)
  const { signal } = new AbortController()
  const dir = resolve(out ?? `runs/${lock.name}`)
  const contextOf = contextBefore({ ...recipe, stages, lock }, dir, signal)
  const lacking = await findMissing(stages, contextOf, { offline, signal })
  const told = await forecast(stages, lock.limit, contextOf).catch((error: unknown) => {
    // Counts depend on missing files, which are reported anyway.
    if (error instanceof UserError && lacking.length > 0) return null
    throw error
  })
  const rollouts = (told ?? []).reduce((sum, { expected }) => sum + (expected.rollouts ?? 0), 0)
  const room = await findRoom(dir, rollouts)
  return { lock, forecast: told, missing: room ? [...lacking, room] : lacking, warnings: warningsOf(lock) }
}
