import { loadJobDir } from '../store/job-dir.ts'
import { type JobScore, scoreJob } from './eval/score-job.ts'

export type { JobScore } from './eval/score-job.ts'

/** Scores a job by its directory, as `ot-agent eval report` does: the mean over tasks with its interval, and every failure counted. */
export async function evaluate(jobDir: string): Promise<JobScore> {
  return (await scoreJob(await loadJobDir(jobDir))).report
}
