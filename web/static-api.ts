import type { ViewJobs, ViewPage, ViewSteps, ViewTaskRow, ViewTextWindow, ViewTrialRow } from '../src/core/view.ts'
import { exportShard, fileName } from '../src/core/view-files.ts'
import { isPlain, type ListRequest, listJobs, listTasks, listTrials } from '../src/core/view-lists.ts'
import { listTaskItems, type TaskListRequest, type ViewTaskItems, type ViewTaskTrial } from '../src/core/view-tasks.ts'

import { answerAboutData } from './static-data.ts'

type Load = <T>(path: string) => Promise<T>
type Query = Readonly<Record<string, unknown>>

/** The path of an exported response. */
export function exportedPath(names: readonly string[]): string {
  const path = names.map(fileName).join('/')
  return names.length === 1 && path.endsWith('.csv') ? `api/${path}` : `api/${path}.json`
}

/** Answers from the files of an export as the server would: searches, sorts and pages lists here. */
export async function answerFromFiles(names: readonly string[], query: Query, load: Load): Promise<unknown> {
  const [first = '', id = '', list = '', trial = '', part = ''] = names
  if (first === 'jobs' && names.length === 1) {
    const { items, broken } = await load<ViewJobs>(exportedPath(names))
    return { ...listJobs(items, requestOf(query)), broken }
  }
  if (first === 'jobs' && names.length === 3 && list === 'tasks')
    return fromShards<ViewTaskRow>(
      ['jobs', id, 'task-list'],
      requestOf(query),
      { usual: 'task', list: listTasks },
      load,
    )
  if (first === 'jobs' && names.length === 3 && list === 'trials')
    return fromShards<ViewTrialRow>(
      ['jobs', id, 'trial-list'],
      requestOf(query),
      { usual: 'name', list: listTrials },
      load,
    )
  if (first === 'tasks' && names.length === 1) {
    const { items, broken } = await load<ViewTaskItems>(exportedPath(names))
    return { ...listTaskItems(items, taskRequestOf(query)), broken, complete: true }
  }
  if (first === 'tasks' && list === 'trials') {
    const { items } = await load<{ items: readonly ViewTaskTrial[] }>(exportedPath(names))
    const { offset, limit } = requestOf(query)
    return { items: items.slice(offset, offset + limit), offset, total: items.length, complete: true }
  }
  if (part === 'steps') return stepsOf(['jobs', id, 'trials', trial, 'steps'], query, load)
  if (part === 'text' || (first === 'tasks' && list === 'text')) {
    const path = String(query.path ?? '')
    const { text } = await load<{ text: string }>(exportedPath([...names, path]))
    const size = new TextEncoder().encode(text).length
    return { path, text, from: 0, to: size, size } satisfies ViewTextWindow
  }
  const aboutData = await answerAboutData(names, query, (...own) => load(exportedPath(own)))
  return aboutData ?? load(exportedPath(names))
}

function taskRequestOf(query: Query): TaskListRequest {
  const of = (name: string) => String(query[name] ?? '')
  return { ...requestOf(query), family: of('family'), difficulty: of('difficulty'), check: of('check') }
}

function requestOf(query: Query): ListRequest {
  const sort = String(query.sort ?? '')
  return {
    offset: Number(query.offset ?? 0),
    limit: Number(query.limit ?? 100),
    q: String(query.q ?? ''),
    sort: sort.replace(/^-/, ''),
    descending: sort.startsWith('-'),
    filter: String(query.filter ?? ''),
  }
}

interface Shard<T> {
  readonly items: readonly T[]
  readonly total: number
}

interface Listing<T> {
  /** The default sort key. */
  readonly usual: string
  readonly list: (rows: readonly T[], request: ListRequest) => ViewPage<T>
}

/** An unfiltered list needs only the files for the requested part; any other list needs all. */
async function fromShards<T>(
  names: readonly string[],
  request: ListRequest,
  { usual, list }: Listing<T>,
  load: Load,
): Promise<ViewPage<T>> {
  const size = exportShard.rows
  const shard = (nth: number) => load<Shard<T>>(exportedPath([...names, String(nth)]))
  const plain = isPlain(request, usual)
  const first = plain ? Math.floor(request.offset / size) : 0
  const begin = await shard(first)
  const end = plain ? Math.min(begin.total, request.offset + request.limit) : begin.total
  const rows = [...begin.items]
  for (let nth = first + 1; nth * size < end; nth++) rows.push(...(await shard(nth)).items)
  if (!plain) return list(rows, request)
  const { offset, limit } = request
  const items = rows.slice(offset - first * size, offset - first * size + limit)
  return { items, offset, total: begin.total, complete: true }
}

async function stepsOf(names: readonly string[], query: Query, load: Load): Promise<ViewSteps> {
  const size = exportShard.steps
  const file = String(query.file ?? 'agent/trajectory.json')
  const [offset, limit] = [Number(query.offset ?? 0), Number(query.limit ?? size)]
  const shard = (nth: number) => load<ViewSteps>(exportedPath([...names, file, String(nth)]))
  const first = Math.floor(offset / size)
  const begin = await shard(first)
  const steps = [...begin.steps]
  for (let nth = first + 1; nth * size < Math.min(begin.total ?? 0, offset + limit); nth++)
    steps.push(...(await shard(nth)).steps)
  return { ...begin, offset, steps: steps.slice(offset - first * size, offset - first * size + limit) }
}
