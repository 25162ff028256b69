import type { ViewJobRow, ViewPage, ViewTaskRow, ViewTrialRow } from './view.ts'

/** Which part of a list is wanted. */
export interface ListRequest {
  readonly offset: number
  readonly limit: number
  /** Words that must all occur. */
  readonly q: string
  readonly sort: string
  readonly descending: boolean
  /** Of jobs: a state. Of trials: an outcome, or a boundary. */
  readonly filter: string
}

/** True when the list is wanted in its usual order and unfiltered, so only a part of it has to be read. */
export function isPlain({ q, filter, sort, descending }: ListRequest, usual: string): boolean {
  return q === '' && filter === '' && (sort === '' || (sort === usual && !descending))
}

/** Jobs, newest first unless asked otherwise. */
export function listJobs(rows: readonly ViewJobRow[], request: ListRequest): ViewPage<ViewJobRow> {
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
  return slice(sorted(matching, keys, request, { key: 'started', descending: true }), request, true)
}

/** The grid of a job, by task. */
export function listTasks(rows: readonly ViewTaskRow[], request: ListRequest, complete = true): ViewPage<ViewTaskRow> {
  const fits = matcher(request.q)
  const matching = rows.filter(
    ({ task, group, cells }) =>
      fits(task, group) && (request.filter === '' || cells.some(({ outcome }) => outcome === request.filter)),
  )
  const keys: Record<string, (row: ViewTaskRow) => string | number> = {
    task: (row) => row.task,
    mean: (row) => row.mean ?? -1,
    trials: (row) => row.cells.length,
  }
  return slice(sorted(matching, keys, request, { key: 'task', descending: false }), request, complete)
}

/** What a search for trials looks at. */
export function searchedTexts({ name, task, agent, model, code, stop }: ViewTrialRow): string[] {
  return [name, name.startsWith(task) ? '' : task, agent, model ?? '', code ?? '', stop ?? '']
}

/** Trials of a job, by name unless asked otherwise. */
export function listTrials(
  rows: readonly ViewTrialRow[],
  request: ListRequest,
  complete = true,
): ViewPage<ViewTrialRow> {
  const fits = matcher(request.q)
  const matching = rows.filter(
    (row) =>
      fits(...searchedTexts(row)) &&
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
  return slice(sorted(matching, keys, request, { key: 'name', descending: false }), request, complete)
}

/** Tests whether some texts contain every word of `q`. */
export function matcher(q: string): (...texts: string[]) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return () => true
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
