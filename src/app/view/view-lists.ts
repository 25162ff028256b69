import type {
  ViewComparison,
  ViewJob,
  ViewJobRow,
  ViewJobs,
  ViewPage,
  ViewTaskRow,
  ViewTrialRow,
} from '../../core/view.ts'
import { namesIn } from '../../lib/files.ts'
import { compareRuns } from '../eval/compare-runs.ts'
import { type RunScore, scoreJob } from '../eval/score-job.ts'
import type { Library } from './library.ts'
import type { LibraryJob } from './library-job.ts'

/** Which part of a list is wanted. */
export interface ListRequest {
  readonly offset: number
  readonly limit: number
  /** Words that all have to occur. */
  readonly q: string
  readonly sort: string
  readonly descending: boolean
  /** Of jobs: a state. Of trials: an outcome, or a boundary. */
  readonly filter: string
}

/** The jobs, newest first unless asked otherwise. */
export async function viewJobs(library: Library, request: ListRequest): Promise<ViewJobs> {
  const { rows, broken } = await library.jobs()
  const fits = matcher(request.q)
  const matching = rows.filter(
    (row) =>
      fits(row.name, ...row.agents, ...row.models, row.state) &&
      (request.filter === '' || row.state === request.filter),
  )
  const keys: Record<string, (row: ViewJobRow) => string | number> = {
    started: (row) => row.startedAt ?? '',
    name: (row) => row.name,
    state: (row) => row.state,
    mean: (row) => row.meanReward ?? -1,
    trials: (row) => row.total ?? row.done,
    failures: (row) => Object.values(row.failures).reduce((sum, count) => sum + count, 0),
  }
  return { ...slice(sorted(matching, keys, request, { key: 'started', descending: true }), request, true), broken }
}

/** The top of a job's page. */
export async function viewJob({ row, there, index }: LibraryJob): Promise<ViewJob> {
  const files = ['config.json', 'lock.json', 'result.json', 'job.json', 'job.log', 'spend.jsonl']
  const present = await namesIn(there.dir)
  return {
    job: row,
    layout: there.layout,
    groups: index.groups(),
    outcomes: index.outcomes(),
    indexed: index.rows.size,
    complete: index.complete,
    running: row.state === 'running' || row.state === 'unknown' ? index.running : [],
    files: files.filter((name) => present.includes(name)),
  }
}

/** The grid of a job, by task. */
export function viewTasks({ index }: LibraryJob, request: ListRequest): ViewPage<ViewTaskRow> {
  const fits = matcher(request.q)
  const matching = index
    .tasks()
    .filter(
      ({ task, group, cells }) =>
        fits(task, group) && (request.filter === '' || cells.some(({ outcome }) => outcome === request.filter)),
    )
  const keys: Record<string, (row: ViewTaskRow) => string | number> = {
    task: (row) => row.task,
    mean: (row) => row.mean ?? -1,
    trials: (row) => row.cells.length,
  }
  return slice(sorted(matching, keys, request, { key: 'task', descending: false }), request, index.complete)
}

/** The trials of a job. */
export function viewTrials({ index }: LibraryJob, request: ListRequest): ViewPage<ViewTrialRow> {
  const fits = matcher(request.q)
  const isPlain = request.q === '' && request.filter === '' && (request.sort === '' || request.sort === 'name')
  const rowOf = (name: string) => index.rows.get(name) ?? []
  if (isPlain && !request.descending) {
    // The usual case, for which a job of 100,000 trials is not gone through.
    const names = index.names()
    const items = names.slice(request.offset, request.offset + request.limit).flatMap(rowOf)
    return { items, offset: request.offset, total: names.length, complete: index.complete }
  }
  const matching = index
    .names()
    .flatMap(rowOf)
    .filter(
      (row) =>
        fits(row.name, row.task, row.agent, row.model ?? '', row.code ?? '', row.stop ?? '') &&
        (request.filter === '' || row.outcome === request.filter || row.boundary === request.filter),
    )
  const keys: Record<string, (row: ViewTrialRow) => string | number> = {
    name: (row) => row.name,
    outcome: (row) => row.outcome,
    reward: (row) => row.reward ?? -1,
    seconds: (row) => row.seconds,
    tokens: (row) => (row.inputTokens ?? 0) + (row.outputTokens ?? 0),
    cost: (row) => row.costUsd ?? 0,
    started: (row) => row.startedAt,
  }
  return slice(sorted(matching, keys, request, { key: 'name', descending: false }), request, index.complete)
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

function matcher(q: string): (...texts: string[]) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return (...texts) => {
    const all = texts.join('\n').toLowerCase()
    return words.every((word) => all.includes(word))
  }
}

function sorted<T>(
  rows: readonly T[],
  keys: Readonly<Record<string, (row: T) => string | number>>,
  { sort, descending }: ListRequest,
  usual: { readonly key: string; readonly descending: boolean },
): readonly T[] {
  const known = Object.hasOwn(keys, sort) ? sort : usual.key
  const key = keys[known]
  if (!key) return rows
  const sign = (sort === '' ? usual.descending : descending) ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)]
    return x < y ? -sign : x > y ? sign : 0
  })
}

function slice<T>(rows: readonly T[], { offset, limit }: ListRequest, complete: boolean): ViewPage<T> {
  return { items: rows.slice(offset, offset + limit), offset, total: rows.length, complete }
}
