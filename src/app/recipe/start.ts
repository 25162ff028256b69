import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { StageContext } from '../../core/stage.ts'
import { namesIn } from '../../lib/files.ts'
import { oneLine } from '../../lib/visible.ts'
import type { LiveStage, ResolvedRecipe } from '../../run/recipe/resolve.ts'
import type { RecipeRun } from '../../run/recipe/run-recipe.ts'
import type { Notify } from '../job/tasks-request.ts'
import { findMissing, type Missing } from './requirements.ts'
import { stageServices } from './services.ts'

/** The context that stages get before anything runs. */
export function contextBefore({ lock }: ResolvedRecipe, dir: string, signal: AbortSignal) {
  const services = stageServices(signal, { notify: () => {} })
  return ({ id }: LiveStage): StageContext => ({
    seed: lock.seed,
    signal,
    workDir: resolve(dir, 'work', id),
    services,
    log: () => {},
  })
}

/**
 * Checks what the stages of a run need, and refuses the run as soon as it is known which stages have work left. What
 * may still appear during the run is only reported.
 */
export async function refuseUnready(
  { recipe, dir, until }: Pick<RecipeRun, 'recipe' | 'dir' | 'until'>,
  { notify, signal }: { readonly notify: Notify; readonly signal: AbortSignal },
): Promise<(pending: readonly string[]) => void> {
  const end = recipe.stages.findIndex(({ id }) => id === until)
  const stages = end < 0 ? recipe.stages : recipe.stages.slice(0, end + 1)
  const missing = await findMissing(stages, contextBefore(recipe, dir, signal), { offline: false, signal })
  const refuse = (pending: readonly string[]) => {
    const wanted = missing.filter((each) => each.stages.some((id) => pending.includes(id)))
    const now = wanted.filter(({ later }) => !later)
    if (now.length > 0) throw unready(recipe.lock.name, now)
    for (const each of wanted) notify(`not available yet, ${lineOf(each)}`)
  }
  // A new run has all its work left, so check before anything is written.
  if ((await namesIn(join(dir, 'stages'))).length === 0) refuse(stages.map(({ id }) => id))
  return refuse
}

function unready(name: string, missing: readonly Missing[]): UserError {
  const lines = missing.map((each) => `\n  ${lineOf(each)}`).join('')
  const count = missing.length === 1 ? 'one thing is' : `${missing.length} things are`
  return new UserError(
    `recipe ${name} cannot start: ${count} missing${lines}`,
    'provide it and run the same command again; recipe check looks for everything, recipe run --rehearse needs none of it',
    3,
  )
}

function lineOf({ stages, what, provide }: Missing): string {
  return `${stages.join(', ')}: ${oneLine(what)} -> ${oneLine(provide)}`
}
