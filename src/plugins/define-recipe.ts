import type { z } from 'zod'
import type { Recipe } from '../core/recipe.ts'
import type { pipelineStages } from './make-stage.ts'
import type { registry } from './table.ts'

type StageTable = typeof registry.stages
type StagePlugin<Name extends keyof StageTable> = Awaited<ReturnType<StageTable[Name]>>['default']

/** A stage of a recipe; the options of a bundled stage are those of its plug-in. */
export type TypedStage = NamedStage | OwnStage

/**
 * A custom stage: a file relative to the recipe, or an installed package. Stages next to pipelines are such files, too.
 */
export interface OwnStage {
  readonly id?: string
  readonly use: `./${string}` | `../${string}` | `/${string}` | `npm:${string}` | keyof typeof pipelineStages
  readonly with?: Readonly<Record<string, unknown>>
  readonly from?: string | readonly string[]
}

type NamedStage = {
  [Name in keyof StageTable]: {
    readonly id?: string
    readonly use: Name
    readonly with?: z.input<StagePlugin<Name>['options']>
    readonly from?: string | readonly string[]
  }
}[keyof StageTable]

/** Declares a recipe; exists only so that a wrong stage or option does not compile. */
export function defineRecipe(recipe: Omit<Recipe, 'stages'> & { readonly stages: readonly TypedStage[] }): Recipe {
  // They may be missing in a file that was not type-checked. The error comes when the recipe is read.
  if (!Array.isArray(recipe.stages)) return recipe
  return { ...recipe, stages: recipe.stages.map((stage) => ({ ...stage, with: { ...stage.with } })) }
}
