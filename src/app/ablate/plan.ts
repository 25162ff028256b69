import { UserError } from '../../core/errors.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { forecast, type StageForecast } from '../../run/recipe/expect.ts'
import type { LiveStage, ResolvedRecipe } from '../../run/recipe/resolve.ts'
import { detectableEffect } from '../../stats/power.ts'
import { type PowerPrediction, predictPower } from '../eval/predict-power.ts'
import { findMissing, type Missing } from '../recipe/requirements.ts'
import { contextBefore } from '../recipe/start.ts'
import { type Cell, type CellGroup, cellsOf, checkStudy, groupCells } from './cells.ts'
import { firstRound } from './search.ts'
import type { Study } from './study.ts'

/** What some work costs, as far as known; null where unknown. */
export interface Cost {
  readonly rollouts: number | null
  readonly tokens: number | null
  readonly costUsd: number | null
  readonly hours: number | null
}

export interface PlannedVariant {
  readonly variant: string
  /** Stages that differ from the baseline's, or that only one of the two has. */
  readonly changed: readonly string[]
  readonly cells: number
  /** What only this variant needs: stages that no variant before it makes. */
  readonly cost: Cost
}

export interface PlannedStage {
  readonly id: string
  /** How many different versions of it are made. */
  readonly versions: number
  /** How many recipes have it. */
  readonly recipes: number
}

export interface AblationPlan {
  readonly schema: 'ablate-plan/1'
  readonly name: string
  readonly cells: number
  readonly recipes: number
  readonly variants: readonly PlannedVariant[]
  readonly stages: readonly PlannedStage[]
  readonly total: Cost
  readonly assumes: readonly string[]
  /** Which budgets the total exceeds. */
  readonly overBudget: readonly string[]
  /** What one comparison can detect, alone and as one of several; null for a measure whose spread is unknown. */
  readonly power: (PowerPrediction & { readonly amongTests: number }) | null
  readonly tests: number
  /** What a run needs according to its file, and which of that was not found. */
  readonly needs: readonly string[]
  readonly missing: readonly Missing[]
}

interface PlannedGroup extends CellGroup {
  readonly stages: readonly { readonly live: LiveStage; readonly digest: string }[]
  readonly forecast: readonly StageForecast[] | null
}

/**
 * Reports what an ablation would do, cost and be able to detect; for a search, its first round. Runs and writes
 * nothing.
 */
export async function planStudy(
  asked: Study,
  { dir, offline }: { readonly dir: string; readonly offline: boolean },
): Promise<AblationPlan> {
  const study = asked.search ? firstRound(asked) : asked
  checkStudy(study)
  const cells = cellsOf(study)
  const groups: PlannedGroup[] = []
  for (const group of await groupCells(study, cells)) groups.push(await planGroup(group, dir))
  const { signal } = new AbortController()
  const stages = [
    ...new Map(groups.flatMap((group) => group.stages.map(({ live, digest }) => [digest, live]))).values(),
  ]
  const [first] = groups
  const missing = first ? await findMissing(stages, contextBefore(first.recipe, dir, signal), { offline, signal }) : []
  const made = new Set<string>()
  const variants = study.variants.map(({ name }) => planVariant(study, name, { cells, groups, made }))
  const total = addCosts(variants.map(({ cost }) => cost))
  const tests = cellsOf({ ...study, seeds: [null] }).filter(({ variant }) => variant !== study.baseline).length
  return {
    schema: 'ablate-plan/1',
    name: study.name,
    cells: cells.length,
    recipes: groups.length,
    variants,
    stages: planStages(groups),
    total,
    assumes: [
      ...new Set(groups.flatMap((group) => group.forecast ?? []).flatMap(({ expected }) => expected.assumes ?? [])),
    ],
    overBudget: overBudget(study, total),
    power: powerOf(study, groups, tests),
    tests,
    needs: study.needs,
    missing,
  }
}

/** Rejects an ablation that is expected to exceed the budget in its file. */
export async function refuseOverBudget(study: Study, dir: string): Promise<void> {
  if (Object.keys(study.budget).length === 0) return
  const { overBudget } = await planStudy(study, { dir, offline: true })
  if (overBudget.length === 0) return
  throw new UserError(
    `${study.file}: over budget: ${overBudget.join('; ')}`,
    'raise the budget, or run less with --only',
  )
}

async function planGroup(group: CellGroup, dir: string): Promise<PlannedGroup> {
  const { recipe } = group
  const end = recipe.stages.findIndex(({ id }) => id === group.stage)
  const stages = recipe.stages.slice(0, end + 1)
  const digests = plainDigests(recipe)
  const { signal } = new AbortController()
  const told = await forecast(stages, recipe.lock.limit, contextBefore(recipe, dir, signal)).catch((error: unknown) => {
    // Files are missing that this depends on; the plan reports them.
    if (error instanceof UserError) return null
    throw error
  })
  return { ...group, stages: stages.map((live) => ({ live, digest: digests.get(live.id) ?? '' })), forecast: told }
}

/**
 * Digests under which stages that are equal here give equal rows. Files and the network are left out, since both have
 * the same.
 */
function plainDigests({ lock, stages }: ResolvedRecipe): ReadonlyMap<string, string> {
  const digests = new Map<string, string>()
  for (const { id, use, stage, from, form, code, ...live } of stages) {
    const identity = stage.identity === undefined ? live.with : stage.identity
    const inputs = from.map((above) => digests.get(above))
    const limit = form === 'source' ? lock.limit : null
    digests.set(id, digestJson({ id, use, identity, code, inputs, limit, seed: lock.seed }))
  }
  return digests
}

interface StudyPlan {
  readonly cells: readonly Cell[]
  readonly groups: readonly PlannedGroup[]
  readonly made: Set<string>
}

function planVariant(study: Study, variant: string, { cells, groups, made }: StudyPlan): PlannedVariant {
  const own = groups.filter((group) => group.cells.some((cell) => cell.variant === variant))
  const base = groups.find((group) => group.cells.some((cell) => cell.variant === study.baseline))
  const fresh = own.flatMap((group) =>
    group.stages.flatMap(({ digest }, i): (StageForecast | null)[] => {
      if (made.has(digest)) return []
      made.add(digest)
      return [group.forecast?.[i] ?? null]
    }),
  )
  return {
    variant,
    changed: changedStages(base, own[0]),
    cells: cells.filter((cell) => cell.variant === variant).length,
    cost: addCosts(fresh.map(costOf)),
  }
}

/** Compares stages by themselves; one that only gets different input rows has not changed. */
function changedStages(base: PlannedGroup | undefined, other: PlannedGroup | undefined): string[] {
  const facts = (group: PlannedGroup | undefined) =>
    new Map(group?.stages.map(({ live }) => [live.id, digestJson({ use: live.use, with: live.with, code: live.code })]))
  const [a, b] = [facts(base), facts(other)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((id) => a.get(id) !== b.get(id))
}

function planStages(groups: readonly PlannedGroup[]): PlannedStage[] {
  const found = new Map<string, { digests: Set<string>; recipes: number }>()
  for (const { stages } of groups)
    for (const { live, digest } of stages) {
      const known = found.get(live.id) ?? { digests: new Set(), recipes: 0 }
      found.set(live.id, { digests: known.digests.add(digest), recipes: known.recipes + 1 })
    }
  return [...found].map(([id, { digests, recipes }]) => ({ id, versions: digests.size, recipes }))
}

function costOf(told: StageForecast | null): Cost {
  if (told === null) return { rollouts: null, tokens: null, costUsd: null, hours: null }
  const { rollouts = 0, modelCalls, tokens, costUsd, hours = 0 } = told.expected
  // A stage that calls a model costs money even if the price is unknown.
  const unknown = modelCalls === undefined ? 0 : null
  return { rollouts, tokens: tokens ?? unknown, costUsd: costUsd ?? unknown, hours }
}

function addCosts(costs: readonly Cost[]): Cost {
  const sum = (name: keyof Cost) =>
    costs.reduce<number | null>((total, cost) => {
      const each = cost[name]
      return total === null || each === null ? null : total + each
    }, 0)
  return { rollouts: sum('rollouts'), tokens: sum('tokens'), costUsd: sum('costUsd'), hours: sum('hours') }
}

function overBudget({ budget }: Study, total: Cost): string[] {
  return (['rollouts', 'tokens', 'costUsd'] as const).flatMap((name) => {
    const [most, expected] = [budget[name], total[name]]
    return most === undefined || expected === null || expected <= most
      ? []
      : [`${name}: about ${Math.ceil(expected)} expected, but the budget is ${most}`]
  })
}

/** For turns and tokens the spread is not known in advance. */
function powerOf(study: Study, groups: readonly PlannedGroup[], tests: number): AblationPlan['power'] {
  const { rows } = study.outcome
  if (rows && rows.measure !== 'reward') return null
  const found = predictPower({ ...guessedDesign(study, groups), ...study.power })
  return { ...found, amongTests: detectableEffect(found.design, Math.max(1, tests)) }
}

/** If the outcome is the teacher's success, the tasks are those of its stage. */
function guessedDesign({ outcome, seeds }: Study, groups: readonly PlannedGroup[]) {
  if (outcome.teacher === undefined) return {}
  const taken = groups[0]?.forecast?.find(({ id }) => id === outcome.teacher)?.taken
  return taken != null && taken >= 2 ? { tasks: taken * seeds.length, attempts: 1 } : { attempts: 1 }
}
