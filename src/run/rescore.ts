import type { JobConfig } from '../core/job.ts'
import type { Task } from '../core/task.ts'
import type { TrialRecord } from '../core/trial.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { utcNow } from '../lib/time.ts'
import { makeLiveStats } from '../stats/live-stats.ts'
import { type JobDir, saveJobResult } from '../store/job-dir.ts'
import { acquireOwner } from '../store/job-owner.ts'
import { loadForTrials, openTrialStore } from '../store/open-store.ts'
import type { TrialStore } from '../store/trial-store.ts'
import { type Rescored, type RescoreRequest, rescoreTrial } from './rescore/rescore-trial.ts'

export type { Rescored } from './rescore/rescore-trial.ts'

export interface JobToRescore extends Omit<RescoreRequest, 'store' | 'jobName'> {
  readonly there: JobDir
  /** The job's settings; their secrets must be available. */
  readonly config: JobConfig
  /** The job's tasks in their current state. */
  readonly tasks: readonly Task[]
  readonly nConcurrent: number
}

/**
 * Verifies again every finished trial of a job that can be, and writes the job's new result. Returns the outcome for
 * each.
 */
export async function rescoreJob(request: JobToRescore): Promise<ReadonlyMap<string, Rescored>> {
  const { there } = request
  const releaseOwner = await acquireOwner(there.dir)
  try {
    await loadForTrials(there.dir, there.layout)
    const store = await openTrialStore(there.dir, there.layout)
    try {
      const rows = await rescoreAll({ ...request, store, jobName: there.name })
      await saveNewResult(request, store)
      return rows
    } finally {
      await store.close()
    }
  } finally {
    await releaseOwner()
  }
}

async function rescoreAll(request: JobToRescore & RescoreRequest): Promise<Map<string, Rescored>> {
  const { environment, verifier } = request.config
  const records: TrialRecord[] = []
  for await (const record of request.store.records()) records.push(record)
  const rows = new Map<string, Rescored>()
  const places = new Semaphore(request.nConcurrent)
  const work = records.map(async (record) => {
    const task = taskOf(record, request.tasks)
    await places.run(request.signal, async () => {
      const config = { ...record.config, environment, verifier }
      rows.set(record.name, task ? await rescoreTrial({ record, task, config }, request) : taskIsGone)
    })
  })
  const outcomes = await Promise.allSettled(work)
  const broken = outcomes.find((outcome) => outcome.status === 'rejected')
  if (broken) throw broken.reason
  return rows
}

const taskIsGone: Rescored = { kind: 'not-rescorable', reason: 'its task no longer exists' }

function taskOf({ task }: TrialRecord, tasks: readonly Task[]): Task | undefined {
  return tasks.find(({ dir }) => dir === task.path) ?? tasks.find(({ name }) => name === task.name)
}

async function saveNewResult({ there, config }: JobToRescore, store: TrialStore): Promise<void> {
  const { result } = there
  if (!result) return
  const liveStats = makeLiveStats(config.metrics)
  for await (const record of store.records()) liveStats.add(record)
  const { retries } = result.stats
  const stats = liveStats.stats({ total: result.totalTrials, running: 0, retries, passAtK: true })
  await saveJobResult(there.dir, { ...result, updatedAt: utcNow(), stats })
}
