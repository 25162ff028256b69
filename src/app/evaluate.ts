import { loadJobDir } from '../store/job-dir.ts'
import { compareRuns, type EvalComparison } from './eval/compare-runs.ts'
import { type PowerPrediction, type PowerRequest, predictPower } from './eval/predict-power.ts'
import { type EvalReport, type ScoreOptions, scoreJob } from './eval/score-job.ts'

export type { Interval } from '../stats/interval.ts'
export type { ComparedPair, ComparedRun, EvalComparison } from './eval/compare-runs.ts'
export type { PowerPrediction, PowerRequest } from './eval/predict-power.ts'
export type { RunNumbers } from './eval/run-tally.ts'
export type { EvalReport, RunScore, ScoreOptions } from './eval/score-job.ts'

/** Scores a job by its directory, as `ot-agent eval report` does: the mean over tasks with its interval, and every failure counted. */
export async function evaluate(jobDir: string, options: ScoreOptions = {}): Promise<EvalReport> {
  return scoreJob(await loadJobDir(jobDir), options)
}

/** Compares every agent and model of the jobs with every other, task by task, as `ot-agent eval compare` does. */
export async function compareJobs(jobDirs: readonly string[], options: ScoreOptions = {}): Promise<EvalComparison> {
  const reports = await Promise.all(jobDirs.map((dir) => evaluate(dir, options)))
  return compareRuns(reports.flatMap(({ runs }) => runs))
}

/** Predicts what a comparison of two runs can detect, as `ot-agent eval power` does; `pilots` are up to two finished jobs. */
export async function predictComparison(
  request: PowerRequest,
  pilots: readonly string[] = [],
): Promise<PowerPrediction> {
  const reports = await Promise.all(pilots.map((dir) => evaluate(dir)))
  return predictPower(
    request,
    reports.flatMap(({ runs }) => runs),
  )
}
