import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '../../src/core/agent.ts'
import type { AgentConfig, JobConfig } from '../../src/core/job.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import type { TrialHook, TrialRecord } from '../../src/core/trial.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { type OpenedJob, openJob } from '../../src/run/job/open-job.ts'
import type { JobTask } from '../../src/run/job/plan.ts'
import type { JobWatch } from '../../src/run/job/run-trials.ts'
import { type JobOutcome, runJob, type TrialParts } from '../../src/run/job.ts'
import { noPrefetch, type PrefetchSettings } from '../../src/run/prefetch.ts'
import type { Layout } from '../../src/store/job-dir.ts'
import { openTrialStore } from '../../src/store/open-store.ts'
import { solver } from '../fakes/agents.ts'
import { jobConfig, taskConfig } from '../fakes/configs.ts'
import { type TaskFiles, writeTask } from '../fakes/tasks.ts'
import { alternatives, provider, scratch } from './kit.ts'

/** A folder of tasks and a folder for jobs. */
export interface Place {
  readonly tasksDir: string
  readonly jobsDir: string
  readonly names: readonly string[]
}

/** Writes small tasks with these names. */
export async function makePlace(names: readonly string[], task: TaskFiles = {}): Promise<Place> {
  const dir = await mkdtemp(join(scratch, 'job-'))
  const tasksDir = join(dir, 'tasks')
  for (const name of names) await writeTask(tasksDir, name, { ...task, files: { 'README.md': name, ...task.files } })
  return { tasksDir, jobsDir: join(dir, 'jobs'), names }
}

export interface JobPlay {
  readonly config?: Partial<JobConfig>
  readonly named?: boolean
  readonly layout?: Layout
  readonly makeAgent?: (config: AgentConfig) => Promise<Agent>
  readonly clientFor?: TrialParts['clientFor']
  readonly prefetch?: PrefetchSettings
  readonly provider?: SandboxProvider
  readonly hooks?: readonly TrialHook[]
  readonly signal?: AbortSignal
  readonly again?: (record: TrialRecord) => boolean
  readonly watch?: Partial<JobWatch>
  /** Called when the job asks for what trials need. */
  readonly onParts?: () => void
}

/** Opens the job of a place, new or interrupted. */
export async function openPlace(place: Place, play: JobPlay = {}): Promise<OpenedJob> {
  const config = jobConfig({ jobsDir: place.jobsDir, jobName: 'the-job', ...play.config })
  const tasks = await tasksOf(place)
  return openJob({ config, named: play.named ?? true, tasks, layout: play.layout ?? null, invocation: ['test'] })
}

async function tasksOf(place: Place): Promise<readonly JobTask[]> {
  const tasks: JobTask[] = []
  for (const name of place.names) {
    const dir = join(place.tasksDir, name)
    tasks.push({ task: await loadTask(dir), config: { ...taskConfig(dir), source: 'letters' } })
  }
  return tasks
}

/** One image for all small tasks. With one each, tasks whose image is ready sooner would overtake others. */
export const alike = async () => 'the image of small tasks'

/** Runs the job of a place to its end, or until the signal aborts. */
export async function playJob(place: Place, play: JobPlay = {}): Promise<JobOutcome> {
  return runJob({
    job: await openPlace(place, play),
    parts: async () => {
      play.onParts?.()
      return {
        provider: play.provider ?? provider,
        makeAgent: play.makeAgent ?? (async () => solver),
        hooks: play.hooks ?? [],
        hostEnv: {},
        alternatives,
        tasks: await tasksOf(place),
        ...(play.clientFor && { clientFor: play.clientFor }),
        prefetch: play.prefetch ?? { ...noPrefetch, imageKey: alike },
      }
    },
    signal: play.signal ?? new AbortController().signal,
    ...(play.again && { again: play.again }),
    watch: () => ({ started: () => {}, retrying: () => {}, ended: () => {}, ...play.watch }),
  })
}

/** Every finished trial of a job, by name. */
export async function recordsOf({ dir, layout }: Pick<OpenedJob, 'dir' | 'layout'>): Promise<TrialRecord[]> {
  const store = await openTrialStore(dir, layout)
  const records: TrialRecord[] = []
  for await (const record of store.records()) records.push(record)
  await store.close()
  return records.sort((a, b) => (a.name < b.name ? -1 : 1))
}
