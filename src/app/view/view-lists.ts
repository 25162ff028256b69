import type { ViewComparison, ViewJob, ViewJobs, ViewPage, ViewTaskRow, ViewTrialRow } from '../../core/view.ts'
import { isPlain, type ListRequest, listJobs, listTasks, listTrials } from '../../core/view-lists.ts'
import { namesIn } from '../../lib/files.ts'
import { compareRuns } from '../eval/compare-runs.ts'
import { type RunScore, scoreJob } from '../eval/score-job.ts'
import type { Library } from './library.ts'
import type { LibraryJob } from './library-job.ts'

/** The jobs, newest first unless requested otherwise. */
export async function viewJobs(library: Library, request: ListRequest): Promise<ViewJobs> {
  const { rows, broken } = await library.jobs()
  return { ...listJobs(rows, request), broken }
}

/** A job's own files that can be read. */
export const jobFiles: readonly string[] = [
  'config.json',
  'lock.json',
  'result.json',
  'job.json',
  'job.log',
  'spend.jsonl',
]

/** The top of a job's page. */
export async function viewJob({ row, there, index }: LibraryJob): Promise<ViewJob> {
  const present = await namesIn(there.dir)
  return {
    job: row,
    layout: there.layout,
    groups: index.groups(),
    outcomes: index.outcomes(),
    indexed: index.rows.size,
    complete: index.complete,
    running: row.state === 'running' || row.state === 'unknown' ? index.running : [],
    files: jobFiles.filter((name) => present.includes(name)),
  }
}

/** A job's task grid. */
export function viewTasks({ index }: LibraryJob, request: ListRequest): ViewPage<ViewTaskRow> {
  return listTasks(index.tasks(), request, index.complete)
}

/** A job's trials. */
export function viewTrials({ index }: LibraryJob, request: ListRequest): ViewPage<ViewTrialRow> {
  const { offset, limit, q } = request
  const { complete } = index
  if (!isPlain(request, 'name')) return listTrials(index.search(q), { ...request, q: '' }, complete)
  // A shortcut for the usual case, so that a job of 100,000 trials is not scanned.
  const rows = index.inOrder()
  return { items: rows.slice(offset, offset + limit), offset, total: rows.length, complete }
}

/** Two or more jobs side by side, with every pair compared task by task. */
export async function viewComparison(library: Library, ids: readonly string[]): Promise<ViewComparison> {
  const runs: (RunScore & { readonly job: string })[] = []
  for (const id of ids) {
    const { there } = await library.job(id, 0)
    runs.push(...(await scoreJob(there)).runs.map((run) => ({ ...run, job: id })))
  }
  const compared = compareRuns(runs)
  const names = [...new Set(runs.flatMap(({ tasks }) => tasks.map(({ task }) => task)))].sort()
  const means = runs.map(({ tasks }) => new Map(tasks.map(({ task, mean }) => [task, mean])))
  return {
    runs: compared.runs.map((run, i) => ({ ...run, job: runs[i]?.job ?? '' })),
    pairs: compared.pairs.map(({ first, second, difference, adjustedP, verdict, sentence }) => ({
      ...{ first, second, difference, adjustedP, verdict, sentence },
    })),
    tasks: names.map((task) => ({ task, rewards: means.map((byTask) => byTask.get(task) ?? null) })),
  }
}
