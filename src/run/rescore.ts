import { makeScoreboard } from '../board/scoreboard.ts'
import type { TrialRecord } from '../core/trial.ts'
import { utcNow } from '../lib/time.ts'
import { loadJobDir, saveJobResult } from '../store/job-dir.ts'
import { acquireOwner } from '../store/job-owner.ts'
import { openTrialStore } from '../store/open-store.ts'
import type { TrialStore } from '../store/trial-store.ts'
import type { OpenedJob } from './job/open-job.ts'
import { type Rescored, type RescoreRequest, rescoreTrial } from './rescore/rescore-trial.ts'
import { makeSlots } from './slots.ts'

export type { Rescored } from './rescore/rescore-trial.ts'

export interface JobToRescore extends Omit<RescoreRequest, 'store' | 'jobName'> {
  readonly job: OpenedJob
  readonly nConcurrent: number
}

/** Verifies every trial of a job again that can be, and writes the job's new result. Says of each trial what became of it. */
export async function rescoreJob(request: JobToRescore): Promise<ReadonlyMap<string, Rescored>> {
  const { job } = request
  const letGo = await acquireOwner(job.dir)
  try {
    const store = await openTrialStore(job.dir, job.layout)
    try {
      const rows = await rescoreAll({ ...request, store, jobName: job.config.jobName })
      await saveNewResult(job, store)
      return rows
    } finally {
      await store.close()
    }
  } finally {
    await letGo()
  }
}

async function rescoreAll(request: JobToRescore & RescoreRequest): Promise<Map<string, Rescored>> {
  const records = new Map<string, TrialRecord>()
  for await (const record of request.store.records()) records.set(record.name, record)
  const rows = new Map<string, Rescored>()
  const slots = makeSlots(request.nConcurrent)
  const work = request.job.plan.map(async (trial) => {
    const record = records.get(trial.name)
    const leave = await slots.take(request.signal)
    try {
      const outcome = record ? await rescoreTrial(trial, record, request) : notRunYet
      rows.set(trial.name, outcome)
    } finally {
      leave()
    }
  })
  const outcomes = await Promise.allSettled(work)
  const broken = outcomes.find((outcome) => outcome.status === 'rejected')
  if (broken) throw broken.reason
  return rows
}

const notRunYet: Rescored = { kind: 'not-rescorable', reason: 'it has not run yet' }

async function saveNewResult(job: OpenedJob, store: TrialStore): Promise<void> {
  const { result } = await loadJobDir(job.dir)
  const board = makeScoreboard(job.config.metrics)
  for await (const record of store.records()) board.add(record)
  const totalTrials = job.plan.length
  const stats = board.stats({ total: totalTrials, running: 0, retries: result?.stats.retries ?? 0, passAtK: true })
  const { id, startedAt } = job
  const finishedAt = result?.finishedAt ?? null
  await saveJobResult(job.dir, { id, startedAt, updatedAt: utcNow(), finishedAt, totalTrials, stats })
}
