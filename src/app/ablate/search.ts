import { UserError } from '../../core/errors.ts'
import { makeRandom, type Random } from '../../lib/random.ts'
import { type Interval, meanInterval } from '../../stats/interval.ts'
import { compareSeeded, pooled, type SeedResult } from '../../stats/seeded.ts'
import { verdictOf } from '../../stats/verdict.ts'
import { loadMeasured, seedResults } from './report.ts'
import { type CellFollower, type RunCells, runCells } from './run.ts'
import type { FactorValue, SearchSettings, Study, Variant } from './study.ts'

/** A variant in one round of a search. */
export interface SearchedVariant {
  readonly variant: string
  readonly set: Readonly<Record<string, unknown>>
  readonly score: Interval | null
  /** The score of the round's best variant minus this one's; null for the best itself. */
  readonly behind: Interval | null
  /** `interval`: known to be worse than the best. `budget`: no room in the next round. `failed`: no result. */
  readonly dropped: 'interval' | 'budget' | 'failed' | null
}

export interface SearchRound {
  readonly level: number
  /** The round's cost: the level, for every variant and seed. */
  readonly cost: number
  readonly variants: readonly SearchedVariant[]
}

export interface SearchResult {
  readonly schema: 'ablate-search/1'
  readonly name: string
  readonly factor: string
  readonly budget: number
  readonly spent: number
  readonly rounds: readonly SearchRound[]
  /** The remaining variants, best first. If there are several, the data does not decide between them. */
  readonly left: readonly string[]
  /** Why the search ended. */
  readonly ended: 'decided' | 'levels' | 'budget'
}

/** What the first round of a search measures. */
export function firstRound(study: Study): Study {
  const settings = settingsOf(study)
  return roundOf(study, candidatesOf(study, settings), settings, settings.levels[0] ?? 1)
}

function roundOf(study: Study, variants: readonly Variant[], { factor }: SearchSettings, level: number): Study {
  return { ...study, variants, factors: { [factor]: [level] } }
}

/**
 * Finds the best option values by successive halving: all candidates are measured at a low level, the survivors at the
 * next. The overall best is dropped by mistake in at most 5 % of rounds, because each comparison with the leader is
 * corrected for all the possible ones.
 */
export async function searchStudy(study: Study, asked: RunCells, follower: CellFollower): Promise<SearchResult> {
  const settings = settingsOf(study)
  let alive = candidatesOf(study, settings)
  const rounds: SearchRound[] = []
  let spent = 0
  const result = (ended: SearchResult['ended']): SearchResult => ({
    ...{ schema: 'ablate-search/1', name: study.name, factor: settings.factor, budget: settings.budget, spent, rounds },
    ...{ left: ranked(rounds.at(-1), alive), ended },
  })
  for (const [at, level] of settings.levels.entries()) {
    const each = level * study.seeds.length
    const room = Math.floor((settings.budget - spent) / (settings.levels.length - at) / each + 1e-9)
    if (at === 0) refuseSmallBudget(study, alive.length, each, settings)
    else if (room < 2) return result('budget')
    else alive = withinBudget(alive, room, rounds)
    const round = roundOf(study, alive, settings, level)
    await runCells(round, asked, follower)
    spent += alive.length * each
    const variants = compareVariants(round, await loadMeasured(round, asked.dir))
    rounds.push({ level, cost: alive.length * each, variants })
    const kept = new Set(variants.flatMap(({ variant, dropped }) => (dropped === null ? [variant] : [])))
    alive = alive.filter(({ name }) => kept.has(name))
    if (alive.length === 0)
      throw new UserError(
        `${study.file}: no candidate has a result at ${settings.factor} ${level}`,
        'look at the failed cells',
      )
    if (alive.length === 1) return result('decided')
  }
  return result('levels')
}

function settingsOf({ search, file, factors }: Study): SearchSettings {
  if (!search) throw new UserError(`${file}: expected search, found none`, 'docs/guides/ablations.md shows one')
  if (Object.keys(factors).length > 0)
    throw new UserError(
      `${file}: expected a search with one factor, the one of its levels`,
      `remove factors: ${Object.keys(factors).join(', ')}`,
    )
  return search
}

/** The baseline, and values drawn from the space. The same seed draws the same values. */
function candidatesOf(study: Study, { space, candidates, seed }: SearchSettings): Variant[] {
  const baseline = study.variants.filter(({ name }) => name === study.baseline)
  const random = makeRandom(seed, 'ablate search')
  const drawn = Array.from({ length: candidates }, (_, i): Variant => {
    const set = Object.fromEntries(Object.entries(space).map(([path, range]) => [path, draw(range, random)]))
    const name = `c${String(i + 1).padStart(String(candidates).length, '0')}`
    return { name, change: { set, replace: {}, remove: [], add: [] } }
  })
  return [...baseline, ...drawn]
}

function draw(range: SearchSettings['space'][string], random: Random): FactorValue {
  if (Array.isArray(range)) return random.pick(range)
  const { from, to, log, whole } = range
  if (whole && !log) return from + random.below(Math.floor(to - from) + 1)
  const share = random.next()
  const value = log ? from * (to / from) ** share : from + (to - from) * share
  return whole ? Math.round(value) : Number(value.toPrecision(4))
}

function refuseSmallBudget(study: Study, variants: number, each: number, { budget, levels }: SearchSettings): void {
  const needed = variants * each * levels.length
  if (needed <= budget) return
  throw new UserError(
    `${study.file}: search: the first of ${levels.length} rounds needs ${variants * each}, but a budget of ${budget} leaves it ${Math.floor(budget / levels.length)}`,
    `raise the budget to ${needed}, or use fewer candidates`,
  )
}

/** The best variants that fit into the budget; the others are marked as dropped in the previous round. */
function withinBudget(alive: readonly Variant[], room: number, rounds: SearchRound[]): Variant[] {
  const last = rounds.at(-1)
  if (last === undefined || alive.length <= room) return [...alive]
  const best = new Set(ranked(last, alive).slice(0, room))
  const variants = last.variants.map((each) =>
    each.dropped === null && !best.has(each.variant) ? { ...each, dropped: 'budget' as const } : each,
  )
  rounds[rounds.length - 1] = { ...last, variants }
  return alive.filter(({ name }) => best.has(name))
}

/** The names of variants, highest mean first. */
function ranked(round: SearchRound | undefined, alive: readonly Variant[]): string[] {
  const means = new Map(round?.variants.map(({ variant, score }) => [variant, score?.mean ?? Number.NEGATIVE_INFINITY]))
  return alive.map(({ name }) => name).sort((a, b) => (means.get(b) ?? 0) - (means.get(a) ?? 0))
}

/** Compares every variant of a round with the best one. */
function compareVariants(study: Study, measured: Awaited<ReturnType<typeof loadMeasured>>): SearchedVariant[] {
  const all = study.variants.map(({ name, change }) => {
    const results: SeedResult[] = seedResults(
      study,
      measured.filter(({ cell }) => cell.variant === name),
    )
    return { variant: name, set: change.set, results, score: meanInterval(pooled(results)) }
  })
  const known = all.flatMap((each) => (each.score === null ? [] : [{ ...each, score: each.score }]))
  const leader = known.reduce<(typeof known)[number] | null>(
    (best, each) => (best === null || each.score.mean > best.score.mean ? each : best),
    null,
  )
  return all.map(({ variant, set, results, score }): SearchedVariant => {
    if (score === null || leader === null) return { variant, set, score, behind: null, dropped: 'failed' }
    if (variant === leader.variant) return { variant, set, score, behind: null, dropped: null }
    const found = compareSeeded(leader.results, results, makeRandom(1, 'ablate search').next)
    if (found === null) return { variant, set, score, behind: null, dropped: null }
    // Any other variant could have been the leader, and each of those comparisons could drop this one.
    const p = Math.min(1, found.p * (known.length - 1))
    const isWorse = verdictOf(found.difference, p) === 'first'
    return { variant, set, score, behind: found.difference, dropped: isWorse ? 'interval' : null }
  })
}
