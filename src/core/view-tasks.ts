import type { ViewFile, ViewPage, ViewTrialRow } from './view.ts'
import { type ListRequest, matcher } from './view-lists.ts'

export type ViewVerdict = 'accepted' | 'rejected' | 'unknown'

/** A task in the list of tasks. All texts are hostile. */
export interface ViewTaskItem {
  readonly id: string
  readonly name: string
  /** The folder or file it comes from; null where only jobs know it. */
  readonly set: string | null
  /** The pipeline that made it, or the category it names. */
  readonly family: string | null
  readonly difficulty: string | null
  /** The beginning of its instruction. */
  readonly begins: string
  /** What `tasks check` said; null where there is no report. */
  readonly verdict: ViewVerdict | null
  /** The first law that does not hold, and why. */
  readonly law: string | null
  readonly reason: string | null
  /** Trials with a reward in the jobs that are shown, and the mean of their rewards. */
  readonly trials: number
  readonly mean: number | null
}

/** Which tasks are wanted. */
export interface TaskListRequest extends ListRequest {
  readonly family: string
  readonly difficulty: string
  /** A verdict, `unchecked`, or `law:` and the name of a law that does not hold. */
  readonly check: string
}

type Counts = readonly (readonly [value: string, tasks: number])[]

export interface ViewTaskItems extends ViewPage<ViewTaskItem> {
  /** How many tasks there are. */
  readonly known: number
  /** Folders with a task.toml that are not tasks, and sets that could not be read to the end. */
  readonly broken: readonly { readonly name: string; readonly why: string }[]
  readonly families: Counts
  readonly difficulties: Counts
  readonly checks: Counts
}

/** How often a model with an agent solved a task. */
export interface ViewSolveRate {
  readonly model: string | null
  readonly agent: string
  /** Trials with a reward, and those of them with a reward of 1 or more. */
  readonly trials: number
  readonly solved: number
  /** A 95 % interval of the share that is solved. */
  readonly low: number
  readonly high: number
  readonly mean: number
  /** Trials that ended without a reward. */
  readonly unscored: number
}

export type ViewTaskTrial = ViewTrialRow & { readonly job: string }

/** What a file of a task is for. */
export type ViewTaskPart = 'instruction' | 'environment' | 'tests' | 'solution' | 'other'

export interface ViewTaskCheck {
  readonly name: string
  readonly outcome: string
  readonly reasons: readonly string[]
  readonly evidence: readonly string[]
}

export interface ViewTask {
  readonly item: ViewTaskItem
  /** Where it is on disk; null where its files cannot be read. */
  readonly path: string | null
  /** Why its files cannot be read. */
  readonly trouble: string | null
  /** The main facts from its task.toml. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly files: readonly (ViewFile & { readonly part: ViewTaskPart })[]
  readonly filesCut: boolean
  /** In the order in which they are made; empty without a report. */
  readonly checks: readonly ViewTaskCheck[]
  readonly findings: readonly {
    readonly lint: string
    readonly severity: string
    readonly path: string
    readonly message: string
  }[]
  readonly notes: readonly string[]
  /** True when the report is about another version of the task. */
  readonly isOld: boolean
  /** Best first. */
  readonly rates: readonly ViewSolveRate[]
  /** False while jobs are still being read. */
  readonly complete: boolean
}

/** The label under which tasks without a value are listed. */
const noTaskValue = '(none)'

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
const orders: Readonly<Record<string, (a: ViewTaskItem, b: ViewTaskItem) => number>> = {
  name: (a, b) => byText(a.name, b.name),
  family: (a, b) => byText(a.family ?? '', b.family ?? ''),
  difficulty: (a, b) => byText(a.difficulty ?? '', b.difficulty ?? ''),
  check: (a, b) => byText(a.verdict ?? '~', b.verdict ?? '~'),
  solved: (a, b) => (a.mean ?? -1) - (b.mean ?? -1) || a.trials - b.trials,
}

/** Tasks that match, with the values to filter by. `textOf` returns further text of a task to search. */
export function listTaskItems(
  items: readonly ViewTaskItem[],
  request: TaskListRequest,
  textOf: (item: ViewTaskItem) => string = ({ begins }) => begins,
): Omit<ViewTaskItems, 'broken' | 'complete'> {
  const fits = matcher(request.q)
  const isSearched = request.q.trim() !== ''
  const matching = items.filter(
    (item) =>
      (request.family === '' || (item.family ?? noTaskValue) === request.family) &&
      (request.difficulty === '' || (item.difficulty ?? noTaskValue) === request.difficulty) &&
      (request.check === '' || checksOf(item).includes(request.check)) &&
      (!isSearched || fits(item.name, item.set ?? '', item.family ?? '', textOf(item))),
  )
  const order = orders[Object.hasOwn(orders, request.sort) ? request.sort : 'name']
  const sign = request.descending ? -1 : 1
  if (order) matching.sort((a, b) => sign * order(a, b) || byText(a.name, b.name) || byText(a.id, b.id))
  return {
    items: matching.slice(request.offset, request.offset + request.limit),
    offset: request.offset,
    total: matching.length,
    known: items.length,
    families: commonest(matching.map(({ family }) => family ?? noTaskValue)),
    difficulties: commonest(matching.map(({ difficulty }) => difficulty ?? noTaskValue)),
    checks: commonest(matching.flatMap(checksOf)),
  }
}

function checksOf({ verdict, law }: ViewTaskItem): string[] {
  return [verdict ?? 'unchecked', ...(law === null ? [] : [`law:${law}`])]
}

const mostValues = 50

function commonest(values: readonly string[]): Counts {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([a, m], [b, n]) => n - m || byText(a, b)).slice(0, mostValues)
}
