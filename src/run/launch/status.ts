import type { JobState, LaunchJob, ScheduledState, Submission } from '../../core/launch.ts'
import type { Mark, StoredLaunch } from './journal.ts'

/** The status of one unit of work: a job, or one task of an array. */
export interface UnitStatus {
  readonly unit: string
  readonly job: string
  readonly task: number | null
  readonly state: JobState
  /** The scheduler's id of the submission, or null when it was not submitted. */
  readonly id: string | null
  readonly reason: string
}

/** The status of a job: the counts of its units, and the most informative state. */
export interface JobStatus {
  readonly job: string
  readonly state: JobState
  readonly units: Readonly<Partial<Record<JobState, number>>>
  readonly ids: readonly string[]
  readonly reason: string
}

/**
 * Combines the scheduler's state with the jobs' marks. A job marked done is done, whatever the scheduler has forgotten.
 */
export function unitsOf(
  { launch, submissions }: Pick<StoredLaunch, 'launch' | 'submissions'>,
  marks: ReadonlyMap<string, readonly Mark[]>,
  scheduled: readonly ScheduledState[],
): readonly UnitStatus[] {
  const told = new Map(scheduled.map((state) => [keyOf(state.id, state.task), state]))
  const byJob = new Map<string, Submission[]>()
  for (const submission of submissions) {
    const own = byJob.get(submission.job)
    if (own) own.push(submission)
    else byJob.set(submission.job, [submission])
  }
  return launch.jobs.flatMap((job) =>
    tasksOf(job).map((task) => {
      const unit = task === null ? job.name : `${job.name}.${task}`
      return unitStatus(unit, job.name, task, {
        submissions: byJob.get(job.name) ?? [],
        marks: marks.get(unit) ?? [],
        scheduled: told,
      })
    }),
  )
}

function keyOf(id: string, task: number | null): string {
  return task === null ? id : `${id}_${task}`
}

function tasksOf({ array }: LaunchJob): readonly (number | null)[] {
  return array === null ? [null] : Array.from({ length: array.size }, (_, i) => i)
}

/** What is known about a unit. */
interface Evidence {
  readonly submissions: readonly Submission[]
  readonly marks: readonly Mark[]
  readonly scheduled: ReadonlyMap<string, ScheduledState>
}

function unitStatus(
  unit: string,
  job: string,
  task: number | null,
  { submissions, marks, scheduled }: Evidence,
): UnitStatus {
  const mine = submissions.filter(({ tasks }) => tasks === null || task === null || tasks.includes(task))
  const last = mine.at(-1)
  const base = { unit, job, task, id: last?.id ?? null }
  const done = marks.find(({ kind }) => kind === 'done')
  if (done) return { ...base, state: 'done', reason: `done at ${done.text}` }
  const told = mine
    .map(({ id }) => scheduled.get(keyOf(id, task)) ?? scheduled.get(keyOf(id, null)))
    .filter((state) => state !== undefined)
  const active = told.find(({ state }) => state === 'running') ?? told.find(({ state }) => state === 'waiting')
  if (active) return { ...base, id: active.id, state: active.state, reason: active.reason }
  const end = marks.find(({ kind }) => kind === 'end')
  if (end) return { ...base, ...endOf(end.text) }
  const ended = told.at(-1)
  if (ended)
    return { ...base, id: ended.id, state: ended.state === 'done' ? 'failed' : ended.state, reason: ended.reason }
  const claimed = marks.some(({ kind }) => kind === 'claim')
  if (last === undefined) return { ...base, state: 'unknown', reason: 'not submitted' }
  return {
    ...base,
    state: 'unknown',
    reason: claimed ? 'started, then reported nothing more' : 'the scheduler no longer knows it',
  }
}

/** `75 0/2 time-limit`: exit code, which link of how many, why it stopped. */
function endOf(text: string): { state: JobState; reason: string } {
  const [code = '?', , why = ''] = text.split(' ')
  if (why === 'over') return { state: 'done', reason: 'no job needs it any longer' }
  if (why === 'time-limit') return { state: 'resumable', reason: 'stopped before its time limit' }
  if (why === 'cancelled') return { state: 'cancelled', reason: 'asked to stop' }
  if (why === 'dependency') return { state: 'cancelled', reason: 'a job it depends on failed' }
  return { state: 'failed', reason: `exit code ${code}` }
}

/** Most informative first. */
const order: readonly JobState[] = ['failed', 'running', 'waiting', 'resumable', 'cancelled', 'unknown', 'done']

/** Summarizes units job by job. */
export function jobsOf(units: readonly UnitStatus[]): readonly JobStatus[] {
  const byJob = new Map<string, UnitStatus[]>()
  for (const unit of units) {
    const before = byJob.get(unit.job)
    if (before) before.push(unit)
    else byJob.set(unit.job, [unit])
  }
  return [...byJob].map(([job, own]) => {
    const counts: Partial<Record<JobState, number>> = {}
    for (const { state } of own) counts[state] = (counts[state] ?? 0) + 1
    const state = order.find((each) => counts[each] !== undefined) ?? 'unknown'
    const ids = [...new Set(own.map(({ id }) => id).filter((id) => id !== null))]
    return { job, state, units: counts, ids, reason: own.find((unit) => unit.state === state)?.reason ?? '' }
  })
}

/** Whether nothing of a launch is waiting or running any more. */
export function isOver(units: readonly UnitStatus[]): boolean {
  return units.every(({ state }) => state !== 'waiting' && state !== 'running')
}
