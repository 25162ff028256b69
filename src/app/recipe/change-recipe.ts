import { UserError } from '../../core/errors.ts'
import type { Recipe, StageEntry } from '../../core/recipe.ts'
import { nearest } from '../../lib/nearest.ts'
import { stageId } from '../../run/recipe/resolve.ts'
import { setValues } from './set-in-document.ts'

/** A stage to insert into a recipe after another one. */
export interface AddedStage extends StageEntry {
  /**
   * The id of the stage whose rows it takes; stages that took those rows now take the new stage's. With `from: []` it
   * is a source and is only placed after it.
   */
  readonly after: string
}

/** How a recipe differs from its base, by stage ids. Applied in this order. */
export interface RecipeChange {
  readonly remove: readonly string[]
  readonly replace: Readonly<Record<string, Pick<StageEntry, 'use' | 'with'>>>
  readonly add: readonly AddedStage[]
  /** Maps `STAGE.OPTION` or `seed` to a value. */
  readonly set: Readonly<Record<string, unknown>>
}

/** Applies changes to a recipe; `where` names them in messages. */
export function changeRecipe(recipe: Recipe, { remove, replace, add, set }: RecipeChange, where: string): Recipe {
  for (const id of [...remove, ...Object.keys(replace)]) requireStage(recipe, id, where)
  let changed = withoutStages(recipe, remove)
  changed = {
    ...changed,
    stages: changed.stages.map((entry): StageEntry => {
      const other = Object.hasOwn(replace, stageId(entry)) ? replace[stageId(entry)] : undefined
      if (other === undefined) return entry
      const { from } = entry
      return { id: stageId(entry), ...other, ...(from !== undefined && { from }) }
    }),
  }
  for (const stage of add) changed = withStage(changed, stage, where)
  return setValues(changed, set, where) as Recipe
}

/** Removes stages from a recipe; stages that took their rows take those of the stages before them. */
export function withoutStages(recipe: Recipe, without: readonly string[]): Recipe {
  const fromOf = new Map(recipe.stages.map((entry) => [stageId(entry), entry.from]))
  const above = (id: string): readonly string[] =>
    without.includes(id) ? [fromOf.get(id) ?? []].flat().flatMap(above) : [id]
  const stages = recipe.stages
    .filter((entry) => !without.includes(stageId(entry)))
    .map((entry): StageEntry => {
      const from = entry.from === undefined ? [] : [entry.from].flat().flatMap(above)
      const { from: _, ...rest } = entry
      return from.length === 0 ? rest : { ...rest, from: typeof entry.from === 'string' ? (from[0] ?? '') : from }
    })
  return { ...recipe, stages }
}

function withStage(recipe: Recipe, { after, ...added }: AddedStage, where: string): Recipe {
  const place = requireStage(recipe, after, where)
  if (Array.isArray(added.from) && added.from.length === 0) {
    const { from: _, ...source } = added
    return { ...recipe, stages: recipe.stages.toSpliced(place + 1, 0, source) }
  }
  const redirect = (from: NonNullable<StageEntry['from']>) =>
    typeof from === 'string' ? redirectOne(from) : from.map(redirectOne)
  const redirectOne = (id: string) => (id === after ? stageId(added) : id)
  const below = recipe.stages
    .slice(place + 1)
    .map((entry): StageEntry => (entry.from === undefined ? entry : { ...entry, from: redirect(entry.from) }))
  return { ...recipe, stages: [...recipe.stages.slice(0, place + 1), { from: after, ...added }, ...below] }
}

/** The index of a stage; a missing one is a UserError. */
function requireStage({ stages }: Recipe, id: string, where: string): number {
  const ids = stages.map(stageId)
  const place = ids.indexOf(id)
  if (place >= 0) return place
  const near = nearest(id, ids)
  throw new UserError(
    `${where}: unknown stage ${JSON.stringify(id)}`,
    near === null ? `known: ${ids.join(', ')}` : `did you mean ${near}?`,
  )
}
