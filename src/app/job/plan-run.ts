import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Environment, Task } from '../../core/task.ts'
import { findNeededImage, type NeededImage } from '../../formats/harbor-task/needed-image.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import { type JobTask, type PlannedTrial, planTrials } from '../../run/job/plan.ts'
import {
  acceptableEnvironment,
  effectiveEnvironment,
  networksOf,
  type SandboxAlternatives,
} from '../../run/trial/environment.ts'
import { providerOf } from './configured.ts'

/** An image, and the tasks that share it. */
export interface PlannedImage {
  readonly kind: NeededImage['kind']
  /** The name of a prebuilt image or the digest of one to build; null for the sandbox's own base. */
  readonly image: string | null
  /** Null if the provider cannot tell. */
  readonly exists: boolean | null
  readonly tasks: readonly string[]
}

export interface RunPlan {
  readonly sandbox: string
  /** Why this machine or account cannot run such sandboxes; null if it can. */
  readonly unavailable: string | null
  readonly tasks: number
  readonly agents: number
  readonly attempts: number
  readonly trials: number
  readonly nConcurrent: number
  readonly images: readonly PlannedImage[]
  /** Tasks whose requirements this kind of sandbox cannot meet. */
  readonly unmet: readonly { readonly task: string; readonly reason: string }[]
}

/** The images a job would start from, determined without building or changing anything. */
export async function planImagesOf(config: JobConfig, tasks: readonly JobTask[]): Promise<RunPlan> {
  return planRun(config, tasks, await providerOf(config.environment), sandboxAlternatives)
}

/** What a job needs, image by image, those shared by the most tasks first. */
export async function planRun(
  config: JobConfig,
  tasks: readonly JobTask[],
  provider: SandboxProvider,
  who: SandboxAlternatives,
): Promise<RunPlan> {
  const planned = planTrials(config, { jobId: 'plan', trialsDir: config.jobsDir }, tasks)
  const first = planned.slice(0, tasks.length * config.agents.length)
  const oneEach = first.filter((_, i) => i % config.agents.length === 0)
  const unavailable = await provider.preflight({ networks: networksOf(tasks.map(({ task }) => task)) }).then(
    () => null,
    (error: unknown) => messageOf(error),
  )
  return {
    sandbox: provider.name,
    unavailable,
    tasks: tasks.length,
    agents: config.agents.length,
    attempts: config.nAttempts,
    trials: planned.length,
    nConcurrent: config.nConcurrentTrials,
    images: await planImages(oneEach, unavailable === null ? provider : null),
    unmet: (await mapAll(oneEach, (trial) => unmetNeed(trial, provider, who))).filter((one) => one !== null),
  }
}

interface Shared {
  readonly image: NeededImage
  readonly environment: Environment
  readonly tasks: Set<string>
}

async function planImages(trials: readonly PlannedTrial[], provider: SandboxProvider | null): Promise<PlannedImage[]> {
  const shared = new Map<string, Shared>()
  const found = await mapAll(trials, async ({ task, config }) => {
    const environments = environmentsOf(task, config.verifier.disable)
    return Promise.all(
      environments.map(async (environment) => {
        const effective = await effectiveEnvironment(environment, config.environment)
        return { task, environment: effective, image: await findNeededImage(effective) }
      }),
    )
  })
  for (const { task, environment, image } of found.flat()) {
    const there = shared.get(image.key) ?? { image, environment, tasks: new Set<string>() }
    shared.set(image.key, there)
    there.tasks.add(task.name)
  }
  const images = await Promise.all([...shared.values()].map((one) => describe(one, provider)))
  return images.sort((a, b) => b.tasks.length - a.tasks.length)
}

async function describe(
  { image, environment, tasks }: Shared,
  provider: SandboxProvider | null,
): Promise<PlannedImage> {
  const exists = image.kind === 'none' ? null : await provider?.isPrepared?.(environment).catch(() => null)
  const name = image.kind === 'none' ? null : image.kind === 'prebuilt' ? image.name : image.digest
  return { kind: image.kind, image: name, exists: exists ?? null, tasks: [...tasks] }
}

/** The environments that a task's trials start: its own, and those of verifiers with a separate sandbox. */
function environmentsOf(task: Task, withoutVerifiers: boolean): Environment[] {
  const verifiers = withoutVerifiers ? [] : [task, ...task.steps].map(({ verifier }) => verifier)
  return [task.environment, ...verifiers.flatMap(({ environment }) => environment ?? [])]
}

async function unmetNeed({ task, config }: PlannedTrial, provider: SandboxProvider, who: SandboxAlternatives) {
  try {
    await acceptableEnvironment(task, config, provider, who)
    return null
  } catch (error) {
    if (!(error instanceof BoundaryError)) throw error
    return { task: task.name, reason: error.message }
  }
}

/** Maps over items in parallel, because the work reads files. */
async function mapAll<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for await (const result of mapInOrder(items, 8, work)) results.push(result)
  return results
}
