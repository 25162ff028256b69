import { mkdir } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Rehearsal, StageContext, StageServices } from '../../core/stage.ts'
import type { MadeSoFar } from '../../core/whole-set.ts'
import { SqlDatabase } from '../../lib/duckdb.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import type { StoredKind } from '../../store/rows/columns.ts'
import { peekStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { digestStages } from './digests.ts'
import { wholeRows } from './expect.ts'
import { JudgedAhead, orderedBelow } from './judged-ahead.ts'
import { removeLeftovers } from './leftovers.ts'
import { saveLock } from './lock.ts'
import type { RecipeOutcome } from './outcome.ts'
import { recheck } from './recheck.ts'
import { replaySample } from './replay-sample.ts'
import { countsOf, saveReport } from './report.ts'
import type { LiveStage, ResolvedRecipe } from './resolve.ts'
import { readResult, resultsFor } from './results.ts'
import { findSunk, runSink, type SunkStage } from './run-sink.ts'
import { runStep } from './run-step.ts'
import { fetchSteps, offerStep } from './share-steps.ts'
import { naming } from './stage-failure.ts'
import type { StepContext } from './step-run.ts'
import type { StepWork } from './step-work.ts'
import { planSteps, type Step } from './steps.ts'

export interface RecipeRun {
  readonly recipe: ResolvedRecipe
  /** Where the recipe keeps everything it makes; running in the same directory again resumes. */
  readonly dir: string
  readonly services: StageServices
  readonly signal: AbortSignal
  /** Several processes share the recipe: this one makes every `of`-th shard. */
  readonly share?: { readonly index: number; readonly of: number } | undefined
  /** Stops when the rows of this stage exist. */
  readonly until?: string | undefined
  readonly shardRows?: number | undefined
  readonly memoryMb?: number | undefined
  /** False: no row is replayed before a dataset is written. */
  readonly replay?: boolean | undefined
  /** A folder shared with other machines: finished steps are looked up and stored there. */
  readonly sharedCache?: string | undefined
  readonly onEvent?: (event: RecipeEvent) => void
  /** Present for a rehearsal: what each stage gets instead of `services`, and where it reports what it did without. */
  readonly rehearse?:
    | ((stage: string) => { readonly services: StageServices; readonly rehearsal: Rehearsal })
    | undefined
  /** Called with the stages that have work left, before any is done or anything is written; throws to stop there. */
  readonly refuse?: ((pending: readonly string[]) => void) | undefined
}

export type RecipeEvent =
  /**
   * `index` counts from 1; `rows` is how many the step takes, or null for a source, whose number of rows is not yet
   * known.
   */
  | {
      readonly kind: 'step-start'
      readonly stages: readonly string[]
      readonly index: number
      readonly of: number
      readonly rows: number | null
    }
  /** How many rows the step has taken (or given, for a source); reported a few times a second. */
  | { readonly kind: 'step-rows'; readonly step: string; readonly rows: number }
  | { readonly kind: 'recheck-start'; readonly rows: number }
  | { readonly kind: 'recheck-end' }
  | { readonly kind: 'shard-end'; readonly step: string; readonly index: number; readonly rows: number }
  | { readonly kind: 'step-end'; readonly step: string; readonly rows: number; readonly cached: boolean }
  | { readonly kind: 'log'; readonly stage: string; readonly line: string }

/** Runs a recipe from the first stage whose rows do not exist yet to the last. */
export async function runRecipe(run: RecipeRun): Promise<RecipeOutcome> {
  refuseUnknownEnd(run)
  await mkdir(run.dir, { recursive: true })
  const release = run.share ? async () => {} : await acquireOwner(run.dir)
  try {
    if (!run.share) await removeLeftovers(run.dir)
    return await runOwned(run)
  } finally {
    await release()
  }
}

async function runOwned(run: RecipeRun): Promise<RecipeOutcome> {
  const { lock, stages } = run.recipe
  await using sql = await openDatabase(run)
  let digests: ReadonlyMap<string, string> = new Map()
  const dirOf = (id: string) => stepDir(run.dir, id, digests.get(id) ?? '')
  // A rehearsal makes as few rows as it can, so the number without its limit does not matter.
  const whole = lock.rehearsal
    ? () => ({ wholeRows: null })
    : await wholeRows(stages, lock.limit, (stage) => stageContext(run, stage))
  const contextOf = (stage: LiveStage) => {
    return { ...stageContext(run, stage), ...whole(stage), ...resultsFor(stage, stages, dirOf) }
  }
  try {
    digests = await digestStages(lock, stages, contextOf)
  } catch (error) {
    // Something the digest needs may be only one of several missing things, so let `refuse` report them all.
    if (error instanceof UserError) run.refuse?.(stages.map(({ id }) => id))
    throw error
  }
  await fetchSteps(run, plannedSteps(run), digests, dirOf)
  run.refuse?.(await pendingStages(run, digests))
  await saveLock(run.dir, lock)
  const outputs = new Map<string, StepOutput>()
  const cached: string[] = []
  const sinks: SunkStage[] = []
  const checked = new Set<StepOutput>()
  const judged = new JudgedAhead()
  const steps = plannedSteps(run)
  for (const [index, step] of steps.entries()) {
    run.signal.throwIfAborted()
    const inputs = step.from.map((id) => outputs.get(id)).filter((output) => output !== undefined)
    const taken = inputs.reduce((sum, { manifest }) => sum + manifest.rows, 0)
    run.onEvent?.(stepStart(steps, index, step.from.length === 0 ? lock.limit : taken))
    if (step.stages[0]?.form === 'sink') {
      if (run.share) return { steps: [...outputs.values()], cached, sinks, waitingAt: step.id }
      const made = await madeSoFar(run, [...new Set(outputs.values())], inputs[0]?.manifest.sources ?? {}, dirOf)
      const place = { runDir: run.dir, digest: digests.get(step.id) ?? '', rows: taken, made }
      sinks.push(
        (await findSunk(step, place)) ??
          (await sinkChecked(run, { sql, contextOf }, step, { inputs, place, steps: [...outputs.values()], checked })),
      )
      run.onEvent?.({ kind: 'step-end', step: step.id, rows: taken, cached: sinks.at(-1)?.cached ?? false })
      continue
    }
    const below = await orderedBelow(steps.slice(index), dirOf)
    const work = { ...stepWork(run, step, digests.get(step.id) ?? '', { sql, contextOf }), below, judged }
    const end = await naming(step, () => runStep(work, inputs))
    if ('waiting' in end) return { steps: [...outputs.values()], cached, sinks, waitingAt: step.id }
    for (const { id } of step.stages) outputs.set(id, end.output)
    if (end.cached) cached.push(step.id)
    else await offerStep(run, end.output)
    run.onEvent?.({ kind: 'step-end', step: step.id, rows: end.output.manifest.rows, cached: end.cached })
    if (lock.rehearsal && end.output.manifest.rows === 0)
      return { steps: [...new Set(outputs.values())], cached, sinks, waitingAt: null, emptyAt: step.id }
  }
  const outcome = { steps: [...new Set(outputs.values())], cached, sinks, waitingAt: null }
  if (run.until === undefined) await saveReport(run.dir, lock, outcome)
  return outcome
}

function openDatabase({ dir, memoryMb }: RecipeRun): Promise<SqlDatabase> {
  return SqlDatabase.open({
    memoryMb: memoryMb ?? Math.min(1500, Math.floor(totalmem() / 2 ** 20 / 3)),
    threads: Math.min(4, cpus().length),
    tempDir: join(dir, 'tmp'),
  })
}

function stepStart(steps: readonly Step[], index: number, rows: number | null): RecipeEvent {
  const stages = (steps[index]?.stages ?? []).map(({ id }) => id)
  return { kind: 'step-start', stages, index: index + 1, of: steps.length, rows }
}

/**
 * The digests of all stages of a recipe that runs in a directory: two stages with the same digest have the same rows.
 * Runs nothing.
 */
export async function stageDigests(
  run: Pick<RecipeRun, 'recipe' | 'dir' | 'services' | 'signal'>,
): Promise<ReadonlyMap<string, string>> {
  const { lock, stages } = run.recipe
  const whole = await wholeRows(stages, lock.limit, (stage) => stageContext(run, stage))
  return digestStages(lock, stages, (stage) => ({ ...stageContext(run, stage), ...whole(stage) }))
}

/** Stages whose rows do not exist yet. Sinks write existing rows and need nothing else. */
async function pendingStages(run: RecipeRun, digests: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const pending: string[] = []
  for (const step of plannedSteps(run))
    if (
      step.stages[0]?.form !== 'sink' &&
      (await peekStep(stepDir(run.dir, step.id, digests.get(step.id) ?? ''))) === null
    )
      pending.push(...step.stages.map(({ id }) => id))
  return pending
}

/** The steps of a run, down to the one where it stops. */
function plannedSteps({ recipe, until }: Pick<RecipeRun, 'recipe' | 'until'>): readonly Step[] {
  const steps = planSteps(recipe.stages)
  const last = steps.findIndex(({ stages }) => stages.some(({ id }) => id === until))
  return last < 0 ? steps : steps.slice(0, last + 1)
}

/** An unknown stage name would stop nothing and let everything run. */
function refuseUnknownEnd({ until, recipe }: RecipeRun): void {
  const ids = recipe.stages.map(({ id }) => id)
  if (until !== undefined && !ids.includes(until))
    throw new UserError(
      `recipe ${recipe.lock.name} has no stage ${JSON.stringify(until)} to stop at`,
      `known: ${ids.join(', ')}`,
    )
}

interface Sinking {
  readonly inputs: readonly StepOutput[]
  readonly place: Parameters<typeof runSink>[3]
  /** Everything made so far. */
  readonly steps: readonly StepOutput[]
  /** Steps to whose rows every filter has already been applied. */
  readonly checked: Set<StepOutput>
}

/** Lets a sink write rows after applying every filter to them again. */
async function sinkChecked(
  run: RecipeRun,
  at: StepContext,
  step: Step,
  { inputs, place, steps, checked }: Sinking,
): Promise<SunkStage> {
  const [[input], [sink]] = [inputs, step.stages]
  if (!input || !sink) throw new Error('a sink has an input')
  return naming(step, async () => {
    if (!checked.has(input)) {
      run.onEvent?.({ kind: 'recheck-start', rows: input.manifest.rows })
      await recheck(at, sink, run.recipe.stages, input)
      checked.add(input)
      run.onEvent?.({ kind: 'recheck-end' })
    }
    const replay = run.replay === false ? null : await replaySample(at, sink, input, { runDir: run.dir, steps })
    return runSink(at, step, inputs, { ...place, made: { ...place.made, replay } })
  })
}

async function madeSoFar(
  { recipe: { lock } }: RecipeRun,
  steps: readonly StepOutput[],
  sources: MadeSoFar['sources'],
  dirOf: (id: string) => string,
): Promise<MadeSoFar> {
  const counts = new Map(countsOf(steps).map((count) => [count.id, count]))
  const stages = await Promise.all(
    lock.stages.map(async (stage) => ({
      ...stage,
      count: counts.get(stage.id) ?? null,
      result: await readResult(dirOf(stage.id)),
    })),
  )
  const { name: recipe, seed, rehearsal } = lock
  return { recipe, seed, ...(rehearsal && { rehearsal }), sources, stages }
}

/** Where the rows of a step are kept. */
function stepDir(dir: string, id: string, digest: string): string {
  return join(dir, 'stages', `${id}-${digest.slice(0, 16)}`)
}

function stepWork(run: RecipeRun, step: Step, digest: string, at: StepWork['at']): Omit<StepWork, 'below' | 'judged'> {
  const [first, last] = [step.stages[0], step.stages.at(-1)]
  const { share, recipe } = run
  return {
    step,
    digest,
    dir: stepDir(run.dir, step.id, digest),
    kind: (last?.gives ?? 'task') as StoredKind,
    inputKind: (first?.takes ?? 'raw') as StoredKind,
    limit: recipe.lock.limit,
    mostRows: recipe.lock.rehearsal ? recipe.lock.limit : null,
    shardRows: run.shardRows ?? 5000,
    mine: share ? (index) => index % share.of === share.index : () => true,
    shared: share !== undefined,
    at,
    signal: run.signal,
    onRow: rowCounter((rows) => run.onEvent?.({ kind: 'step-rows', step: step.id, rows })),
    onShard: ({ index, rows }) => run.onEvent?.({ kind: 'shard-end', step: step.id, index, rows }),
  }
}

const toldEveryMs = 200

/** Counts rows and reports the number a few times a second. */
function rowCounter(tell: (rows: number) => void): () => void {
  let rows = 0
  let lastMs = performance.now()
  return () => {
    rows++
    const nowMs = performance.now()
    if (nowMs - lastMs < toldEveryMs) return
    lastMs = nowMs
    tell(rows)
  }
}

function stageContext(
  run: Pick<RecipeRun, 'recipe' | 'dir' | 'services' | 'signal' | 'rehearse' | 'onEvent'>,
  stage: LiveStage,
): StageContext {
  const { services, ...rehearsed } = run.rehearse?.(stage.id) ?? { services: run.services }
  return {
    ...rehearsed,
    seed: run.recipe.lock.seed,
    ...(stage.form === 'source' && { limit: run.recipe.lock.limit ?? undefined }),
    signal: run.signal,
    workDir: join(run.dir, 'work', stage.id),
    services,
    log: (line) => run.onEvent?.({ kind: 'log', stage: stage.id, line }),
  }
}
