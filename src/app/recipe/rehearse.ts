import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { StageCount } from '../../core/recipe.ts'
import type { Rehearsal } from '../../core/stage.ts'
import { namesIn, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { isRehearsal } from '../../run/recipe/lock.ts'
import type { RecipeOutcome } from '../../run/recipe/outcome.ts'
import { countsOf } from '../../run/recipe/report.ts'
import type { LiveStage, ResolvedRecipe } from '../../run/recipe/resolve.ts'
import { loadRecipe, type RecipeOptions } from './load-recipe.ts'
import { performRecipe, type RecipeFollower } from './perform-recipe.ts'
import { rehearsalRows, rehearsalServices } from './rehearsal-services.ts'
import { needsOf, sourceGap } from './requirements.ts'
import { contextBefore } from './start.ts'

/** What a rehearsal found out about one stage. */
export interface RehearsedStage extends StageCount {
  /** Replacements for the real thing. */
  readonly substituted: readonly string[]
  readonly notExercised: readonly string[]
  /** True if it dropped all its input and its rows went on without it. */
  readonly endedEmpty: boolean
}

export interface RehearsalReport {
  readonly schema: 'recipe-rehearsal/1'
  readonly recipe: string
  readonly dir: string
  readonly stages: readonly RehearsedStage[]
  readonly outputs: readonly Pick<RecipeOutcome['sinks'][number], 'id' | 'dir' | 'counts' | 'replay'>[]
  /** The stage that gave nothing and that later ones need; null if every stage had work. */
  readonly brokenAt: string | null
}

/**
 * Runs every stage of a recipe on fixtures, stand-ins and local sandboxes, with two rows per source. A filter that
 * drops all of them is reported and skipped, and the run continues from there, so that every later stage has work.
 */
export async function rehearse(
  file: string,
  options: RecipeOptions & {
    readonly dir: (name: string) => string
    readonly replay?: boolean | undefined
  },
  follower: RecipeFollower,
): Promise<RehearsalReport> {
  const whole = await loadRecipe(file, options)
  const dir = options.dir(whole.lock.name)
  const notes = new Notes()
  const standIns = await sourcesToReplace(whole, dir, notes)
  await beginAnew(dir)
  const counts = new Map<string, StageCount>()
  const without: string[] = []
  for (;;) {
    const recipe = await loadRecipe(file, { ...options, limit: rehearsalRows, rehearsal: { without, standIns } })
    const rehearse = (stage: string) => {
      const rehearsal = notes.of(stage)
      return { rehearsal, services: rehearsalServices(rehearsal, follower.trials) }
    }
    const outcome = await performRecipe({ recipe, dir, replay: options.replay, rehearse }, follower)
    for (const count of countsOf(outcome.steps)) counts.set(count.id, count)
    const empty = outcome.emptyAt === undefined ? null : emptyStage(recipe, outcome)
    if (empty !== null && isOptional(empty)) {
      without.push(empty.id)
      continue
    }
    const report = reportOf(whole, { dir, counts, without, notes }, outcome, empty?.id ?? outcome.emptyAt ?? null)
    await writeAtomic(join(dir, 'rehearsal.json'), `${JSON.stringify(report, null, 2)}\n`)
    return report
  }
}

/** What stages reported, by stage id, without repetitions. */
class Notes {
  private readonly all = new Map<string, { readonly substituted: Set<string>; readonly notExercised: Set<string> }>()

  of(stage: string): Rehearsal {
    const said = this.all.get(stage) ?? { substituted: new Set(), notExercised: new Set() }
    this.all.set(stage, said)
    return {
      substituted: (what) => void said.substituted.add(what),
      notExercised: (what) => void said.notExercised.add(what),
    }
  }

  read(stage: string): Pick<RehearsedStage, 'substituted' | 'notExercised'> {
    const { substituted = [], notExercised = [] } = this.all.get(stage) ?? {}
    return { substituted: [...substituted], notExercised: [...notExercised] }
  }
}

/** Task sources that need the network, or whose files are missing here: composed tasks replace them. */
async function sourcesToReplace(recipe: ResolvedRecipe, dir: string, notes: Notes): Promise<readonly string[]> {
  const contextOf = contextBefore(recipe, dir, new AbortController().signal)
  const replaced: string[] = []
  for (const live of recipe.stages.filter(({ form }) => form === 'source')) {
    const own = 'needs' in live.stage ? await live.stage.needs?.(contextOf(live)) : undefined
    // A pipeline has a fixture, but its arguments must still be valid.
    if (own?.some(({ kind }) => kind === 'pipeline')) await needsOf(live, contextOf(live))
    const gap = await sourceGap(own ?? [])
    if (gap === null) continue
    if (live.gives !== 'task')
      throw new UserError(
        `stage ${live.id}: ${gap}, and nothing can replace its ${live.gives} rows in a rehearsal`,
        'put a few of its rows into a file, and rehearse with sources/file',
        3,
      )
    notes.of(live.id).substituted('composed tasks for its own')
    notes.of(live.id).notExercised(`the source itself: ${gap}`)
    replaced.push(live.id)
  }
  return replaced
}

/** Clears the directory: a rehearsal never resumes, and never touches a run. */
async function beginAnew(dir: string): Promise<void> {
  const lock = await readTextIfExists(join(dir, 'lock.json'))
  const names = await namesIn(dir)
  if (names.length > 0 && (lock === null || !isRehearsal(lock)))
    throw new UserError(
      `${dir} holds ${lock === null ? 'other files' : 'a run of a recipe'}, but a rehearsal needs its own directory`,
      'choose another directory with -o',
    )
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
}

/** The first stage of the last step that took rows and gave none. */
function emptyStage({ stages }: ResolvedRecipe, { steps, emptyAt }: RecipeOutcome): LiveStage | null {
  const counts = steps.find(({ manifest }) => manifest.id === emptyAt)?.manifest.counts ?? []
  const first = counts.find(({ taken, given }) => taken > 0 && given === 0)
  return stages.find(({ id }) => id === first?.id) ?? null
}

/** Whether rows can skip a stage: it gives what it takes, from a single branch. */
function isOptional({ takes, gives, from, form }: LiveStage): boolean {
  return form !== 'source' && takes === gives && from.length === 1
}

function reportOf(
  { lock, stages }: ResolvedRecipe,
  run: {
    readonly dir: string
    readonly counts: ReadonlyMap<string, StageCount>
    readonly without: readonly string[]
    readonly notes: Notes
  },
  { sinks }: RecipeOutcome,
  brokenAt: string | null,
): RehearsalReport {
  const notReached = { substituted: [], notExercised: ['everything: no rows reached it'] }
  return {
    schema: 'recipe-rehearsal/1',
    recipe: lock.name,
    dir: run.dir,
    stages: stages.map(({ id, use, from: [above = ''] }) => {
      const count = run.counts.get(id)
      const sunk = sinks.find((sink) => sink.id === id)
      const said = count || sunk ? run.notes.read(id) : notReached
      const rows = sunk ? (run.counts.get(above)?.given ?? 0) : 0
      const counted = count ?? { id, use, taken: rows, given: rows, drops: {} }
      return { ...counted, ...said, endedEmpty: run.without.includes(id) }
    }),
    outputs: sinks.map(({ id, dir, counts, replay }) => ({ id, dir, counts, replay })),
    brokenAt,
  }
}
