import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import type { Recipe } from '../../core/recipe.ts'
import { makeAgent, makeAnyStage, makeProvider } from '../../plugins.ts'
import { type ResolvedRecipe, resolveRecipe } from '../../run/recipe/resolve.ts'
import { naming } from '../../run/recipe/stage-failure.ts'
import { loadImported } from '../imported/load-imported.ts'
import { setInDocument } from './set-in-document.ts'

const schema = z.strictObject({
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

/** Options of every command that reads a recipe. */
export interface RecipeOptions {
  readonly set?: readonly string[] | undefined
  readonly limit?: number | undefined
}

/** Reads a recipe's file, lays `--set` values over it, makes its stages and checks that they fit. */
export async function loadRecipe(file: string, options: RecipeOptions): Promise<ResolvedRecipe> {
  const { value, where } = await loadImported(file)
  const recipe = parseRecipe(setInDocument(value, options.set ?? []), where)
  const resolved = await resolveRecipe(recipe, makeAnyStage, { limit: options.limit ?? null })
  for (const live of resolved.stages) await naming({ stages: [live] }, () => refuseUnknownPlugIns(live.with))
  return resolved
}

/** Agents and sandboxes are looked up by name before anything runs: hours of work may stand above the stage that wants them. */
async function refuseUnknownPlugIns({ agent, sandbox }: Readonly<Record<string, unknown>>): Promise<void> {
  const [wantedAgent, wantedSandbox] = [choice.safeParse(agent), choice.safeParse(sandbox)]
  if (wantedAgent.success) await makeAgent(wantedAgent.data.name, wantedAgent.data.options)
  if (wantedSandbox.success) await makeProvider(wantedSandbox.data.name, wantedSandbox.data.options)
}

const choice = z.union([
  z.string().transform((name) => ({ name, options: {} })),
  z.object({ name: z.string(), options: z.record(z.string(), z.unknown()).default({}) }),
])

function parseRecipe(value: unknown, where: string): Recipe {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(
    `${where}: ${issue?.path.join('.') || 'the recipe'}: ${issue?.message ?? 'not valid'}`,
    'docs/guides/your-own-recipe.md shows one',
  )
}
