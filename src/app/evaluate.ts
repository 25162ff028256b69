import { UserError } from '../core/errors.ts'
import { loadJobDir } from '../store/job-dir.ts'
import { compareRuns, type EvalComparison } from './eval/compare-runs.ts'
import { type PowerPrediction, type PowerRequest, predictPower } from './eval/predict-power.ts'
import { type EvalReport, type RunScore, type ScoreOptions, scoreJob } from './eval/score-job.ts'

export type { Interval } from '../stats/interval.ts'
export type { ComparedPair, ComparedRun, EvalComparison } from './eval/compare-runs.ts'
export type { PowerPrediction, PowerRequest } from './eval/predict-power.ts'
export type { RunNumbers } from './eval/run-tally.ts'
export type { EvalReport, RunScore, ScoreOptions } from './eval/score-job.ts'

/**
 * Scores a job directory, like `ot-agent eval report`: the mean over tasks with its interval, counting every failure.
 */
export async function evaluate(jobDir: string, options: ScoreOptions = {}): Promise<EvalReport> {
  return scoreJob(await loadJobDir(jobDir), options)
}

/** Compares all agents and models of the jobs pairwise, task by task, like `ot-agent eval compare`. */
export async function compareJobs(jobDirs: readonly string[], options: ScoreOptions = {}): Promise<EvalComparison> {
  return compareRuns(await scoreJobs(jobDirs, options))
}

/**
 * Predicts what a comparison of two runs can detect, like `ot-agent eval power`; `pilots` are up to two finished jobs.
 */
export async function predictComparison(
  request: PowerRequest,
  pilots: readonly string[] = [],
): Promise<PowerPrediction> {
  return predictPower(request, await scoreJobs(pilots, {}))
}

/** The results of several jobs. Those that are called the same are told apart by the folders they are in. */
async function scoreJobs(jobDirs: readonly string[], options: ScoreOptions): Promise<readonly RunScore[]> {
  const jobs = await Promise.all(jobDirs.map(loadJobDir))
  const names = shortestNames(jobs.map(({ dir }) => dir))
  const reports = await Promise.all(jobs.map((job, i) => scoreJob({ ...job, name: names[i] ?? job.name }, options)))
  const empty = reports.find(({ runs }) => runs.length === 0)
  if (empty) throw new UserError(`${empty.dir}: expected a job with trials that have ended, found none`, 'run it first')
  return reports.flatMap(({ runs }) => runs)
}

function shortestNames(dirs: readonly string[]): readonly string[] {
  const paths = dirs.map((dir) => dir.split('/'))
  const named = (parts: number) => paths.map((path) => path.slice(-parts).join('/'))
  const longest = Math.max(...paths.map((path) => path.length))
  const different = new Set(dirs).size
  for (let parts = 1; parts < longest; parts++) if (new Set(named(parts)).size === different) return named(parts)
  return dirs
}
