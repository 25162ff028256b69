import { stat } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import type { TrialRecord } from '../../core/trial.ts'
import type { ViewGroup, ViewOutcome, ViewTaskRow, ViewTrialRow } from '../../core/view.ts'
import { matcher, searchedTexts } from '../../core/view-lists.ts'
import { collectGarbage, collectLater } from '../../lib/collect-garbage.ts'
import { evalKeyOf } from '../../stats/metrics.ts'
import { followRecords, type RecordFollower } from '../../store/follow-records.ts'
import type { JobDir } from '../../store/job-dir.ts'
import { RunTally } from '../eval/run-tally.ts'
import { runningRowOf, viewRowOf } from './trial-rows.ts'

/** One small row for each trial of a job. Reads the job in the background, and later only what is new. */
export class JobIndex {
  /** True once the first read is done. */
  complete = false
  running: readonly ViewTrialRow[] = []
  /** Increases with every change, so that data derived from the rows can be cached. */
  version = 0
  private follower: RecordFollower
  private readonly texts = new Map<string, string>()
  private counted = new Counted(this.texts)
  /** Trials that were ever withdrawn or replaced. */
  private readonly replaced = new Set<string>()
  /** True if some of them are counted with outdated records. */
  private isStale = false
  private reading: Promise<void> | null = null
  private tellFirst = () => {}
  /** Settles when there is a row to show, or certainly none. */
  private readonly first = new Promise<void>((resolve) => {
    this.tellFirst = resolve
  })
  private readonly made = new Map<string, { readonly version: number; readonly value: unknown }>()

  constructor(private readonly job: Pick<JobDir, 'dir' | 'layout'>) {
    this.follower = followRecords(job.dir, job.layout)
  }

  get rows(): ReadonlyMap<string, ViewTrialRow> {
    return this.counted.rows
  }

  /** Reads what is new; concurrent callers share one read. Waits at most `waitMs`, or until there is a first row. */
  async refresh(waitMs: number): Promise<void> {
    this.reading ??= this.read()
      .catch((error: unknown) => {
        // The next caller continues reading, and gets the error if it persists.
        this.complete = false
        throw error
      })
      .finally(() => {
        this.reading = null
        this.tellFirst()
      })
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, waitMs).unref())
    await Promise.race([this.reading, waitMs === 0 ? timeout : Promise.all([timeout, this.first])])
  }

  dirOfRunning(trial: string): string | null {
    return this.running.some(({ name }) => name === trial) ? this.follower.dirOf(trial) : null
  }

  /** The sorted names of all trials. */
  names(): readonly string[] {
    return this.inOrder().map(({ name }) => name)
  }

  /** All rows, by name. */
  inOrder(): readonly ViewTrialRow[] {
    return this.once('rows', () => [...this.rows.values()].sort((a, b) => order(a.name, b.name)))
  }

  /** The rows that contain all words of a text, by name. */
  search(q: string): readonly ViewTrialRow[] {
    if (q.trim() === '') return this.inOrder()
    const fits = matcher(q)
    const texts = this.once('texts', () => this.inOrder().map((row) => searchedTexts(row).join('\n').toLowerCase()))
    return this.inOrder().filter((_, i) => fits(texts[i] ?? ''))
  }

  /** Caches a value derived from the rows until they change. */
  private once<T>(name: string, make: () => T): T {
    const known = this.made.get(name)
    if (known?.version === this.version) return known.value as T
    const value = make()
    this.made.set(name, { version: this.version, value })
    return value
  }

  groupOf(row: ViewTrialRow): string {
    return this.counted.groupOf(row.name)
  }

  outcomes(): Partial<Record<ViewOutcome, number>> {
    const counts: Partial<Record<ViewOutcome, number>> = {}
    for (const { outcome } of this.rows.values()) counts[outcome] = (counts[outcome] ?? 0) + 1
    if (this.running.length > 0) counts.running = this.running.length
    return counts
  }

  groups(): readonly ViewGroup[] {
    return this.once('groups', () => this.makeGroups())
  }

  private makeGroups(): ViewGroup[] {
    return [...this.counted.tallies].map(([key, tally]) => {
      const { trials, failures, stops, spreads, phaseSec, passes, accuracy, ...numbers } = tally.read()
      const { scored, failed, cancelled } = trials
      return {
        ...{ key, agent: numbers.agent, model: numbers.model, dataset: numbers.dataset },
        ...{ trials: trials.trials, scored, failed, cancelled, accuracy, passes, failures, stops, spreads, phaseSec },
      }
    })
  }

  /** The grid: a row for each task of each group, sorted by name. */
  tasks(): readonly ViewTaskRow[] {
    return this.once('grid', () => this.makeGrid())
  }

  private makeGrid(): ViewTaskRow[] {
    const byTask = new Map<string, { task: string; group: string; rows: ViewTrialRow[] }>()
    for (const row of this.rows.values()) {
      const group = this.groupOf(row)
      const key = `${row.task}\0${group}`
      const entry = byTask.get(key) ?? { task: row.task, group, rows: [] }
      byTask.set(key, entry)
      entry.rows.push(row)
    }
    return [...byTask.values()]
      .sort((a, b) => order(a.task, b.task) || order(a.group, b.group))
      .map(({ task, group, rows }) => {
        const rewards = rows.flatMap(({ reward }) => reward ?? [])
        const cells = rows
          .sort((a, b) => a.attempt - b.attempt || order(a.name, b.name))
          .map(({ name, attempt, outcome, reward }) => ({ name, attempt, outcome, reward }))
        const mean = rewards.length === 0 ? null : rewards.reduce((sum, value) => sum + value, 0) / rewards.length
        return { task, group, mean, cells }
      })
  }

  private async read(): Promise<void> {
    for await (const news of this.follower.next()) {
      const name = news.kind === 'forget' ? news.trial : news.record.name
      if (news.kind === 'record' && !this.rows.has(name)) this.add(news.record)
      else {
        this.replaced.add(name)
        this.isStale = true
      }
    }
    while (this.isStale) await this.countAgain()
    if (!this.complete && this.rows.size > manyRows) await this.prepare()
    this.complete = true
    this.running = await Promise.all(
      this.follower
        .unfinished()
        .slice(0, mostRunning)
        .map(async (name) => {
          const stats = await stat(this.follower.dirOf(name)).catch(() => null)
          return runningRowOf(name, (stats?.birthtime ?? new Date()).toISOString())
        }),
    )
  }

  /**
   * Sums cannot be undone: when records were withdrawn or replaced, all current ones are counted again while the old
   * sums are shown. The sums stay stale if another record is replaced in the meantime.
   */
  private async countAgain(): Promise<void> {
    const follower = followRecords(this.job.dir, this.job.layout)
    const counted = new Counted(this.texts)
    const latest = new Map<string, TrialRecord>()
    const before = this.replaced.size
    for await (const news of follower.next()) {
      const name = news.kind === 'forget' ? news.trial : news.record.name
      if (news.kind === 'forget' || counted.rows.has(name)) this.replaced.add(name)
      if (news.kind === 'forget') latest.delete(name)
      else if (this.replaced.has(name)) latest.set(name, news.record)
      else counted.add(news.record)
    }
    if (this.replaced.size > before) return
    for (const record of latest.values()) counted.add(record)
    this.counted = counted
    this.follower = follower
    this.isStale = false
    this.version++
  }

  /**
   * Computes what the first requests need before the job counts as read, yielding in between so that other requests are
   * answered.
   */
  private async prepare(): Promise<void> {
    for (const make of [() => this.tasks(), () => this.groups(), () => this.search('?'), collectGarbage]) {
      await setImmediate()
      make()
    }
    void collectLater()
  }

  private add(record: TrialRecord): void {
    this.counted.add(record)
    this.version++
    this.tellFirst()
  }
}

/** The rows and sums of records, each added exactly once. */
class Counted {
  readonly rows = new Map<string, ViewTrialRow>()
  readonly tallies = new Map<string, RunTally>()
  /** The first record's group, usually that of most trials; the map only holds the groups of trials in others. */
  private firstGroup: string | null = null
  private readonly groupKeys = new Map<string, string>()

  constructor(private readonly texts: Map<string, string>) {}

  groupOf(trial: string): string {
    return this.groupKeys.get(trial) ?? this.firstGroup ?? ''
  }

  add(record: TrialRecord): void {
    const key = this.intern(evalKeyOf(record))
    const tally = this.tallies.get(key) ?? new RunTally(record)
    this.tallies.set(key, tally)
    tally.add(record)
    this.firstGroup ??= key
    if (key !== this.firstGroup) this.groupKeys.set(record.name, key)
    this.rows.set(
      record.name,
      viewRowOf(record, (text) => this.intern(text)),
    )
  }

  private intern(text: string): string {
    const known = this.texts.get(text)
    if (known === undefined) this.texts.set(text, text)
    return known ?? text
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Reading the records of a job this large leaves hundreds of megabytes of garbage. */
const manyRows = 10_000

/** How many directories without a record are listed: a crashed job may have left thousands. */
const mostRunning = 1000
