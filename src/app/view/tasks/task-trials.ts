import { UserError } from '../../../core/errors.ts'
import type { ViewTrialRow } from '../../../core/view.ts'
import type { ViewSolveRate, ViewTaskTrial } from '../../../core/view-tasks.ts'
import { clopperPearson } from '../../../stats/interval.ts'
import { type LibraryJobs, NotHere } from '../library-job.ts'
import { waitFor } from './task-set.ts'

/** Jobs may grow while they are shown. */
const freshMs = 5000
/** Longer than reading any job takes. */
const jobWaitMs = 3_600_000

export interface TaskTally {
  /** Trials with a reward, and the sum of their rewards. */
  readonly trials: number
  readonly sum: number
}

interface Trials {
  readonly job: string
  readonly rows: ViewTrialRow[]
}

/** The trials of the displayed jobs, by task name. Reads the jobs in the background, one after the other. */
export class TaskTrials {
  complete = false
  private byTask = new Map<string, Trials[]>()
  private reading: Promise<void> | null = null
  private readAt = Number.NEGATIVE_INFINITY

  constructor(private readonly library: LibraryJobs) {}

  /** Reads what is new, waiting at most `waitMs`. */
  async refresh(waitMs: number): Promise<void> {
    if (this.reading === null && performance.now() - this.readAt > freshMs)
      this.reading = this.read().finally(() => {
        this.reading = null
        this.readAt = performance.now()
      })
    if (this.reading) await waitFor(this.reading, waitMs)
  }

  /** The names of all tasks. */
  names(): IterableIterator<string> {
    return this.byTask.keys()
  }

  tally(task: string): TaskTally {
    let [trials, sum] = [0, 0]
    for (const { rows } of this.byTask.get(task) ?? [])
      for (const { reward } of rows)
        if (reward !== null) {
          trials++
          sum += reward
        }
    return { trials, sum }
  }

  /** A task's trials, newest first. */
  of(task: string): ViewTaskTrial[] {
    const all = (this.byTask.get(task) ?? []).flatMap(({ job, rows }) => rows.map((row) => ({ ...row, job })))
    return all.sort((a, b) => (a.startedAt < b.startedAt ? 1 : a.startedAt > b.startedAt ? -1 : 0))
  }

  /** How often each model solved a task, best first. */
  rates(task: string): ViewSolveRate[] {
    const groups = new Map<string, ViewTaskTrial[]>()
    for (const trial of this.of(task)) {
      const key = JSON.stringify([trial.model, trial.agent])
      groups.set(key, [...(groups.get(key) ?? []), trial])
    }
    const rates = [...groups.values()].flatMap((trials) => rateOf(trials) ?? [])
    return rates.sort((a, b) => b.mean - a.mean || b.trials - a.trials)
  }

  private async read(): Promise<void> {
    const found = new Map<string, Trials[]>()
    // On the first read the numbers grow as jobs are read; later the old ones stay until the new ones are complete.
    if (!this.complete) this.byTask = found
    for (const job of (await this.library.idsByDir()).values()) {
      const rows = await this.rowsOf(job)
      const own = new Map<string, ViewTrialRow[]>()
      for (const row of rows) {
        const ofTask = own.get(row.task)
        if (ofTask) ofTask.push(row)
        else own.set(row.task, [row])
      }
      for (const [task, ofTask] of own) found.set(task, [...(found.get(task) ?? []), { job, rows: ofTask }])
    }
    this.byTask = found
    this.complete = true
  }

  private async rowsOf(job: string): Promise<Iterable<ViewTrialRow>> {
    try {
      return (await this.library.job(job, jobWaitMs)).index.rows.values()
    } catch (error) {
      // The list of jobs shows what is wrong with it.
      if (error instanceof NotHere || error instanceof UserError) return []
      throw error
    }
  }
}

function rateOf(trials: readonly ViewTaskTrial[]): ViewSolveRate | null {
  const [first] = trials
  if (first === undefined) return null
  const rewards = trials.flatMap(({ reward }) => reward ?? [])
  const solved = rewards.filter((reward) => reward >= 1).length
  const [low, high] = rewards.length === 0 ? [0, 1] : clopperPearson(solved, rewards.length)
  return {
    ...{ model: first.model, agent: first.agent, trials: rewards.length, solved, low, high },
    mean: rewards.length === 0 ? 0 : rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
    unscored: trials.length - rewards.length,
  }
}
