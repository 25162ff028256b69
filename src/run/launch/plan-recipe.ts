import type { LaunchJob } from '../../core/launch.ts'
import { type Argument, runOurs } from './pieces.ts'
import { cpuResources, makeJob, type PlanContext, slug } from './plan.ts'

/** A recipe shared by several processes. */
export interface RecipeRequest {
  readonly file: string
  readonly extra: readonly string[]
  readonly out: string
  readonly shards: number
  readonly throttle: number
  /** Its steps in order, and whether one process makes the whole step instead of many making its shards. */
  readonly steps: readonly { readonly id: string; readonly undivided: boolean }[]
}

/**
 * One array per step that is made shard by shard, one job per step that a single process makes, and a last one that
 * finishes what is left. A step begins when all shards of the one before exist; the jobs wait for that.
 */
export function planRecipe(at: PlanContext, request: RecipeRequest): readonly LaunchJob[] {
  const jobs: LaunchJob[] = []
  const shared = request.shards > 1 ? request.steps.slice(0, lastShared(request.steps) + 1) : []
  for (const [i, step] of shared.entries()) {
    const name = `${String(i + 1).padStart(2, '0')}-${slug(step.id)}`
    jobs.push(
      step.undivided
        ? planWhole(at, request, { step: step.id, name, before: jobs.at(-1) })
        : planArray(at, request, { step: step.id, name, before: jobs.at(-1) }),
    )
  }
  const before = jobs.at(-1)
  jobs.push(
    makeJob(at, {
      name: 'finish',
      summary: 'run everything that is left of the recipe',
      resources: cpuResources(at, 8, 32),
      after: before ? [{ job: before.name, when: 'ok' }] : [],
      pieces: [runOurs('run the recipe, or what is left of it', wordsOf(request))],
    }),
  )
  return jobs
}

function lastShared(steps: RecipeRequest['steps']): number {
  return steps.findLastIndex(({ undivided }) => !undivided)
}

interface StepJob {
  readonly step: string
  readonly name: string
  readonly before: LaunchJob | undefined
}

function planArray(at: PlanContext, request: RecipeRequest, { step, name, before }: StepJob): LaunchJob {
  return makeJob(at, {
    name,
    summary: `shards of ${step}`,
    resources: cpuResources(at, 8, 32),
    after: before ? [{ job: before.name, when: 'ok' }] : [],
    array: { size: request.shards, throttle: request.throttle },
    pieces: [
      runOurs(`the shards of ${step} that are ours`, [
        ...wordsOf(request),
        '--until',
        step,
        '--share',
        { raw: `"$task/${request.shards}"` },
      ]),
    ],
  })
}

function planWhole(at: PlanContext, request: RecipeRequest, { step, name, before }: StepJob): LaunchJob {
  return makeJob(at, {
    name,
    summary: `${step}, which one process makes`,
    resources: cpuResources(at, 8, 32),
    after: before ? [{ job: before.name, when: 'ok' }] : [],
    pieces: [runOurs(`${step}, which one process makes`, [...wordsOf(request), '--until', step])],
  })
}

function wordsOf({ file, out, extra }: RecipeRequest): Argument[] {
  return ['recipe', 'run', file, '--out', out, ...extra]
}
