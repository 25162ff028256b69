import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { moduleFrom } from '../../core/plugin.ts'
import type { Recipe, RecipeLock, StageEntry } from '../../core/recipe.ts'
import type { PlugInChoice } from '../../core/stage.ts'
import { makeAgent, makeProvider, pluginContext } from '../../plugins/make.ts'
import { makeAnyStage } from '../../plugins/make-stage.ts'
import { absoluteImportPath, isModulePath, parseImportPath } from '../../plugins/user-modules/import-path.ts'
import { loadImported } from '../../plugins/user-modules/load-imported.ts'
import { makeImportedStage } from '../../plugins/user-modules/make-imported-stage.ts'
import { type ResolvedRecipe, resolveRecipe, stageId } from '../../run/recipe/resolve.ts'
import { naming } from '../../run/recipe/stage-failure.ts'
import { withoutStages } from './change-recipe.ts'
import { givingTasks } from './maker-tasks.ts'
import { setInDocument, textsIn } from './set-in-document.ts'

/** A recipe's file format. */
export const recipeSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'expected letters, digits, dots and dashes'),
  summary: z.string().optional(),
  seed: z.int().nonnegative().optional(),
  stages: z.array(
    z.strictObject({
      id: z.string().optional(),
      use: z.string().min(1),
      with: z.record(z.string(), z.unknown()).optional(),
      from: z.union([z.string(), z.array(z.string())]).optional(),
    }),
  ),
})

/** Options shared by every command that reads a recipe. */
export interface RecipeOptions {
  readonly set?: readonly string[] | undefined
  readonly limit?: number | undefined
  /** For a rehearsal: stages to leave out, and sources to replace with composed tasks. */
  readonly rehearsal?: { readonly without: readonly string[]; readonly standIns: readonly string[] } | undefined
}

/**
 * The folder of a recipe's file, which relative paths in it start from. For a recipe in a package it is the working
 * directory.
 */
function folderOf(file: string): string {
  const { from, isPackage } = parseImportPath(file)
  if (isPackage) return process.cwd()
  return statSync(from, { throwIfNoEntry: false })?.isDirectory() ? from : dirname(from)
}

/**
 * Resolves paths: those in a recipe start from its folder, those given with --set from the working directory, where
 * they were typed.
 */
function pathResolver(dir: string, settings: readonly string[]): (path: string) => string {
  const typed = new Set(settings.flatMap(textsIn))
  return (path) => resolve(typed.has(path) ? process.cwd() : dir, path)
}

/** Reads a recipe's file, applies `--set` values, makes its stages and checks that they fit together. */
export async function loadRecipe(file: string, options: RecipeOptions): Promise<ResolvedRecipe> {
  const { value, where } = await loadImported(file)
  return makeRecipe(value, { where, folder: folderOf(file) }, options)
}

/** Reads a recipe unresolved, so that it can be changed and passed to `makeRecipe`. */
export async function readRecipe(file: string): Promise<{ recipe: Recipe; where: string; folder: string }> {
  const { value, where } = await loadImported(file)
  return { recipe: parseRecipe(setInDocument(value, []), where), where, folder: folderOf(file) }
}

/** The same for a recipe held by a program; its relative paths start from `folder`. */
export async function makeRecipe(
  value: unknown,
  { where, folder }: { readonly where: string; readonly folder: string },
  options: RecipeOptions,
): Promise<ResolvedRecipe> {
  const { rehearsal } = options
  const written = parseRecipe(setInDocument(value, options.set ?? []), where)
  const recipe = rehearsal ? rehearsed(written, rehearsal) : written
  const resolvePath = pathResolver(folder, options.set ?? [])
  const make = async (use: string, given: Readonly<Record<string, unknown>>) =>
    givingTasks(
      isModulePath(use)
        ? await makeImportedStage(absoluteImportPath(use, folder), given, { resolvePath })
        : await makeAnyStage(use, given, { resolvePath }),
    )
  const resolved = await resolveRecipe(recipe, make, {
    limit: options.limit ?? null,
    rehearsal: rehearsal !== undefined,
  })
  for (const live of resolved.stages)
    await naming({ stages: [live] }, () => refuseUnknownPlugIns(live.with, resolvePath))
  return resolved
}

/** A recipe without the stages that a rehearsal cannot run, and with stand-ins for sources. */
function rehearsed(recipe: Recipe, { without, standIns }: NonNullable<RecipeOptions['rehearsal']>): Recipe {
  const left = withoutStages(recipe, without)
  const stages = left.stages.map((entry): StageEntry => {
    const id = stageId(entry)
    return standIns.includes(id) ? { id, use: 'sources/pipeline', with: composed } : entry
  })
  return { ...left, stages }
}

const composed = { pipeline: 'terminal-composer', args: { count: 2, check: false } }

/**
 * Looks up agents and sandboxes by name before anything runs, because the stage that needs them may come after hours of
 * work.
 */
async function refuseUnknownPlugIns(
  { agent, sandbox }: Readonly<Record<string, unknown>>,
  resolvePath: (path: string) => string,
): Promise<void> {
  const [wantedAgent, wantedSandbox] = [choice.safeParse(agent), choice.safeParse(sandbox)]
  const nameOf = (plugIn: PlugInChoice) => moduleFrom({ ...pluginContext(), resolvePath }, plugIn.name)
  if (wantedAgent.success) await makeAgent(nameOf(wantedAgent.data), wantedAgent.data.options)
  if (wantedSandbox.success) await makeProvider(nameOf(wantedSandbox.data), wantedSandbox.data.options)
}

const choice = z.union([
  z.string().transform((name) => ({ name, options: {} })),
  z.object({ name: z.string(), options: z.record(z.string(), z.unknown()).default({}) }),
])

function parseRecipe(value: unknown, where: string): Recipe {
  const parsed = recipeSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(
    `${where}: ${issue?.path.join('.') || 'the recipe'}: ${issue?.message ?? 'not valid'}`,
    'docs/guides/your-own-recipe.md shows one',
  )
}

/** Warnings about a recipe that can run: it exports a dataset without comparing it with benchmarks. */
export function warningsOf({ stages }: Pick<RecipeLock, 'stages'>): readonly string[] {
  const makesDataset = stages.some(({ use }) => use.startsWith('exporters/'))
  if (!makesDataset || stages.some(({ use }) => use.endsWith('/decontaminated'))) return []
  return [
    'nothing keeps benchmark tasks out of the dataset: add filters/tasks/decontaminated or filters/rollouts/decontaminated',
  ]
}
