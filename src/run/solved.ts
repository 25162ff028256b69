import { loadJobDir } from '../store/job-dir.ts'
import { openTrialStore } from '../store/open-store.ts'

/** How often a task was tried and solved. */
export interface SolvedCount {
  readonly scored: number
  readonly solved: number
}

/**
 * How often each task of a job was solved, by the task's name; trials with an infrastructure failure do not count.
 * Tasks with `solved` above 0 are those that a strong agent solved at least once.
 */
export async function countSolved(jobDir: string, threshold = 1): Promise<ReadonlyMap<string, SolvedCount>> {
  const job = await loadJobDir(jobDir)
  const store = await openTrialStore(job.dir, job.layout)
  const counts = new Map<string, SolvedCount>()
  try {
    for await (const { task, end } of store.records()) {
      if (end.kind !== 'scored' || end.rewards === null) continue
      const { scored, solved } = counts.get(task.name) ?? { scored: 0, solved: 0 }
      const reward = end.rewards.reward ?? Math.min(...Object.values(end.rewards))
      counts.set(task.name, { scored: scored + 1, solved: solved + (reward >= threshold ? 1 : 0) })
    }
  } finally {
    await store.close()
  }
  return counts
}
