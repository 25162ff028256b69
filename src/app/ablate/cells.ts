import { join, resolve } from 'node:path'
import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { Recipe } from '../../core/recipe.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { ResolvedRecipe } from '../../run/recipe/resolve.ts'
import { changeRecipe } from '../recipe/change-recipe.ts'
import { makeRecipe, readRecipe } from '../recipe/load-recipe.ts'
import { combinations, type FactorValue, type Outcome, type Study } from './study.ts'

/** One measurement of an ablation: a variant, with one choice of the factors, and a seed. */
export interface Cell {
  readonly variant: string
  readonly factors: Readonly<Record<string, FactorValue>>
  /** Null: only the recipe's own seed. */
  readonly seed: number | null
}

/** Cells whose datasets are made by the same recipe. */
export interface CellGroup {
  readonly recipe: ResolvedRecipe
  /** The stage whose rows are measured, or whose dataset is passed to the commands. */
  readonly stage: string
  readonly cells: readonly Cell[]
}

/** Every cell of a study. */
export function cellsOf(study: Pick<Study, 'variants' | 'factors' | 'seeds'>): Cell[] {
  return study.variants.flatMap(({ name }) =>
    combinations(study.factors).flatMap((factors) => study.seeds.map((seed) => ({ variant: name, factors, seed }))),
  )
}

/** A cell for people: `five size=316 seed=2`. */
export function labelOf({ variant, factors, seed }: Cell): string {
  const parts = Object.entries(factors).map(([name, value]) => `${name}=${value}`)
  return [variant, ...parts, ...(seed === null ? [] : [`seed=${seed}`])].join(' ')
}

/** Makes the recipes of the cells, each once; a variant that does not fit is a UserError. */
export async function groupCells(study: Study, cells: readonly Cell[]): Promise<CellGroup[]> {
  const base = await readRecipe(resolve(study.folder, study.recipe))
  const groups = new Map<string, { recipe: Recipe; where: string; cells: Cell[] }>()
  for (const cell of cells) {
    const where = `${study.file}: variant ${cell.variant}`
    const recipe = recipeOf(study, base.recipe, cell, where)
    const key = digestJson(recipe)
    const group = groups.get(key)
    if (group) group.cells.push(cell)
    else groups.set(key, { recipe, where, cells: [cell] })
  }
  const made: CellGroup[] = []
  for (const { recipe, where, cells: members } of groups.values()) {
    const resolved = await makeRecipe(recipe, { where, folder: base.folder }, { limit: study.limit }).catch(
      (error: unknown) => {
        if (!(error instanceof UserError) || error.message.startsWith(where)) throw error
        throw new UserError(`${where}: ${error.message}`, error.hint, error.exitCode)
      },
    )
    made.push({ recipe: resolved, stage: dataStage(study, resolved), cells: members })
  }
  return made
}

function recipeOf(study: Study, base: Recipe, cell: Cell, where: string): Recipe {
  const variant = study.variants.find(({ name }) => name === cell.variant)
  if (!variant) throw new Error(`no variant ${cell.variant}`)
  const values = valuesOf(study, cell)
  const { remove, replace, add, set } = variant.change
  const seed = study.seedsOf === 'outcome' || cell.seed === null ? {} : { seed: cell.seed }
  const filled = filledIn({ replace, add, set: { ...study.set, ...set, ...seed } }, values)
  return changeRecipe(base, { remove, ...filled }, where)
}

/** What each `{NAME}` stands for in a cell, both in its recipe and in its commands. */
function valuesOf({ folder }: Study, { variant, factors, seed }: Cell): Readonly<Record<string, FactorValue>> {
  return { ...factors, variant, seed: seed ?? 0, here: folder }
}

/**
 * Replaces placeholders with values; a string that is nothing but a placeholder becomes the value itself. Other braces
 * stay.
 */
export function filledIn<T>(template: T, values: Readonly<Record<string, FactorValue>>): T {
  const fill = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(fill)
    if (typeof item === 'object' && item !== null)
      return Object.fromEntries(Object.entries(item).map(([key, inner]) => [key, fill(inner)]))
    if (typeof item !== 'string') return item
    const [, whole = ''] = /^\{(\w+)\}$/.exec(item) ?? []
    if (Object.hasOwn(values, whole)) return values[whole]
    return item.replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? String(values[name]) : all))
  }
  return fill(template) as T
}

/**
 * The commands of a cell, with `{dataset}`, `{out}` and `{here}` left in place, since those are paths on one machine.
 */
export function commandsOf(study: Study, cell: Cell): string[][] {
  const { here: _, ...values } = valuesOf(study, cell)
  const known = [...Object.keys(values), 'here', 'dataset', 'out']
  return (study.outcome.commands ?? []).map((words) =>
    words.map((word) => {
      for (const [, name = ''] of word.matchAll(/\{(\w+)\}/g)) {
        const near = known.includes(name) ? null : nearest(name, known)
        if (near !== null)
          throw new UserError(`${study.file}: outcome: {${name}} is not known`, `did you mean {${near}}?`)
      }
      return String(filledIn(word, values))
    }),
  )
}

/** Where a cell's commands write their measurements, with placeholders for paths left in place. */
export function resultOf(study: Study, cell: Cell): readonly string[] {
  const { here: _, ...values } = valuesOf(study, cell)
  return study.outcome.result.map((path) => String(filledIn(path, values)))
}

/**
 * Rejects what would go wrong in every cell. A seed or factor that changes nothing would pass copies of one result off
 * as several.
 */
export function checkStudy(study: Study): void {
  for (const cell of cellsOf(study)) commandsOf(study, cell)
  const used = JSON.stringify([study.set, study.variants, study.outcome])
  const idle = Object.keys(study.factors).find((name) => !used.includes(`{${name}}`))
  if (idle !== undefined)
    throw new UserError(`${study.file}: factors: {${idle}} is not used`, 'use it in set, in a variant or in a command')
  if (study.seeds.length === 1 || study.seedsOf === 'recipe') return
  if (!JSON.stringify(study.outcome.commands ?? []).includes('{seed}'))
    throw new UserError(
      `${study.file}: seeds: no command uses {seed}, so that all seeds would have the same result`,
      'pass {seed} to the training, or write seedsOf: recipe',
    )
}

/** Identifies a cell by everything that determines its result: cells with the same id have the same result. */
export function cellId(study: Study, cell: Cell, dataDigest: string): string {
  const { rows, teacher } = study.outcome
  const outcome = study.outcome.commands
    ? { commands: commandsOf(study, cell), result: resultOf(study, cell) }
    : { rows, teacher }
  return digestJson({ schema: 'ablate-cell/1', data: dataDigest, outcome }).slice(0, 20)
}

function dataStage({ outcome }: Study, { stages, lock }: ResolvedRecipe): string {
  const sinks = stages.filter(({ form }) => form === 'sink')
  const wanted = wantedStage(outcome)
  const usual = outcome.commands ? sinks[0] : stages.filter(({ form }) => form !== 'sink').at(-1)
  const found = wanted === undefined ? usual : stages.find(({ id }) => id === wanted)
  if (found && (!outcome.commands || found.form === 'sink')) return found.id
  throw new UserError(
    `recipe ${lock.name}: outcome: ${wanted === undefined ? 'it has no exporter' : `unknown ${outcome.commands ? 'exporter' : 'stage'} ${JSON.stringify(wanted)}`}`,
    `known: ${(outcome.commands ? sinks : stages).map(({ id }) => id).join(', ')}`,
  )
}

function wantedStage({ teacher, rows, commands, dataset }: Outcome): string | undefined {
  return commands ? dataset : (teacher ?? rows?.stage)
}

const indexSchema = z.object({
  schema: z.literal('ablate-index/1'),
  cells: z.array(
    z.object({
      variant: z.string(),
      factors: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      seed: z.number().nullable(),
      id: z.string().regex(/^[0-9a-f]{20}$/),
      /** What was run, without what its sources contained; absent in an index of an earlier version. */
      asked: z.string().optional(),
    }),
  ),
})

export type IndexedCell = z.output<typeof indexSchema>['cells'][number]

/** Which result belongs to which cell, for the cells run so far. */
export async function loadIndex(dir: string): Promise<IndexedCell[]> {
  const path = join(dir, 'cells.json')
  const text = await readTextIfExists(path)
  if (text === null) return []
  const parsed = indexSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data.cells
  throw new BoundaryError('store', `${path} has changed since it was written; remove it, and run the ablation again`, {
    code: 'CorruptIndex',
    retryable: false,
  })
}

/** Writes the index; new entries replace the old ones of the same cells. */
export async function saveIndex(dir: string, before: readonly IndexedCell[], now: readonly IndexedCell[]) {
  const labels = new Set(now.map(labelOf))
  const cells = [...before.filter((cell) => !labels.has(labelOf(cell))), ...now]
  await writeAtomic(join(dir, 'cells.json'), `${JSON.stringify({ schema: 'ablate-index/1', cells }, null, 2)}\n`)
  return cells
}

/** The directory of a cell. */
export function cellDir(dir: string, id: string): string {
  return join(dir, 'cells', id)
}
