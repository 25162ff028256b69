import { UserError } from '../../core/errors.ts'
import type { Recipe, RecipeLock, ResolvedStage, StageEntry, StageForm } from '../../core/recipe.ts'
import { type AnyStage, takenBy } from '../../core/stage.ts'
import { storedKinds } from '../../store/rows/columns.ts'

/** Makes a stage by its name; a wrong name or option is a UserError. */
export type MakeStage = (use: string, options: Readonly<Record<string, unknown>>) => Promise<AnyStage>

/** A stage of a recipe, ready to run. */
export interface LiveStage extends ResolvedStage {
  readonly stage: AnyStage
}

export interface ResolvedRecipe {
  readonly lock: RecipeLock
  readonly stages: readonly LiveStage[]
}

/**
 * Makes every stage of a recipe and determines what each takes and gives; a mismatch is a UserError. Touches nothing.
 */
export async function resolveRecipe(
  recipe: Recipe,
  make: MakeStage,
  { limit = null, rehearsal = false }: { readonly limit?: number | null; readonly rehearsal?: boolean } = {},
): Promise<ResolvedRecipe> {
  if (recipe.stages.length === 0) throw refuse(recipe, 'has no stages', 'a recipe starts with a source')
  const stages: LiveStage[] = []
  for (const entry of recipe.stages) stages.push(await resolveStage(recipe, entry, stages, make))
  const open = openEnds(stages)
  if (open.length > 1)
    throw refuse(
      recipe,
      `ends in ${open.length} branches: ${open.map(({ id }) => id).join(', ')}`,
      'add a mixer below them',
    )
  const lock: RecipeLock = {
    schema: 'recipe-lock/1',
    name: recipe.name,
    seed: recipe.seed ?? 0,
    limit,
    ...(rehearsal && { rehearsal: true }),
    stages: stages.map(({ stage: _, ...rest }) => rest),
  }
  return { lock, stages }
}

async function resolveStage(
  recipe: Recipe,
  entry: StageEntry,
  above: readonly LiveStage[],
  make: MakeStage,
): Promise<LiveStage> {
  const id = stageId(entry)
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(id))
    throw refuse(recipe, `has an invalid stage id ${JSON.stringify(id)}`, 'use letters, digits, dots and dashes')
  if (above.some((stage) => stage.id === id))
    throw refuse(recipe, `has two stages with the id ${id}`, 'give one of them another id')
  const stage = await makeNamed(recipe, id, entry, make)
  const takes = takenBy(stage)
  const from = inputsOf(recipe, { id, entry, stage }, above)
  for (const input of from)
    if (input.gives !== takes)
      throw refuse(
        recipe,
        `stage ${id} expects ${takes} rows, but ${input.id} above it produces ${input.gives} rows`,
        'add a stage between them that converts the rows, or set `from`',
      )
  const gives = 'gives' in stage ? stage.gives : stage.takes
  if (!storedKinds.some((kind) => kind === gives))
    throw refuse(recipe, `stage ${id} gives ${gives} rows`, `a recipe can pass on ${storedKinds.join(', ')} rows`)
  return {
    id,
    use: entry.use,
    with: entry.with ?? {},
    from: from.map((input) => input.id),
    form: formOf[stage.kind],
    takes,
    gives,
    ...(stage.code !== undefined && { code: stage.code }),
    stage,
  }
}

/** A stage's name: its id, or else the last part of what it uses, without a file extension. */
export function stageId({ id, use }: Pick<StageEntry, 'id' | 'use'>): string {
  return id ?? (use.split('/').at(-1) ?? use).replace(/\.[cm]?[jt]s$/, '')
}

async function makeNamed(recipe: Recipe, id: string, entry: StageEntry, make: MakeStage): Promise<AnyStage> {
  try {
    return await make(entry.use, entry.with ?? {})
  } catch (error) {
    if (error instanceof UserError) throw refuse(recipe, `stage ${id}: ${error.message}`, error.hint)
    throw error
  }
}

/** How the engine runs each kind of stage. */
const formOf: Readonly<Record<AnyStage['kind'], StageForm>> = {
  source: 'source',
  map: 'stream',
  filter: 'stream',
  'sql-filter': 'sql-filter',
  'set-filter': 'whole',
  'ordered-filter': 'whole',
  mixer: 'whole',
  exporter: 'sink',
}

interface NamedStage {
  readonly id: string
  readonly entry: StageEntry
  readonly stage: AnyStage
}

function inputsOf(recipe: Recipe, { id, entry, stage }: NamedStage, above: readonly LiveStage[]): readonly LiveStage[] {
  if (stage.kind === 'source') {
    if (entry.from !== undefined) throw refuse(recipe, `stage ${id} is a source, which has no input`, 'remove `from`')
    return []
  }
  const many = stage.kind === 'mixer' && stage.many === true
  if (entry.from !== undefined) {
    const names = [entry.from].flat()
    if (names.length > 1 && !many)
      throw refuse(
        recipe,
        `stage ${id} expects the rows of one stage, not of ${names.join(', ')}`,
        'add a mixer between them',
      )
    return names.map((name) => named(recipe, id, name, above))
  }
  const open = openEnds(above)
  if (open.length === 0)
    throw refuse(recipe, `starts with ${id}, which needs rows from a stage above`, 'start with a source')
  if (many) return open
  if (open.length > 1)
    throw refuse(
      recipe,
      `stage ${id} is below ${open.length} branches: ${open.map((each) => each.id).join(', ')}`,
      'add a mixer above it, or set `from`',
    )
  return open
}

function named(recipe: Recipe, id: string, name: string, above: readonly LiveStage[]): LiveStage {
  const found = above.find((stage) => stage.id === name)
  if (found) return found
  throw refuse(
    recipe,
    `stage ${id} takes its rows from ${JSON.stringify(name)}, which is not above it`,
    `above it: ${above.map((stage) => stage.id).join(', ') || 'nothing'}`,
  )
}

/** Stages whose rows no other stage takes. A sink does not count as taking them. */
function openEnds(stages: readonly LiveStage[]): readonly LiveStage[] {
  const takers = stages.filter(({ form }) => form !== 'sink')
  const taken = new Set(takers.flatMap(({ from }) => from))
  return takers.filter(({ id }) => !taken.has(id))
}

function refuse(recipe: Recipe, message: string, hint: string): UserError {
  return new UserError(`recipe ${recipe.name} ${message}`, hint)
}
