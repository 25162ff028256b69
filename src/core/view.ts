import type { SystemReport, TrialRecord } from './trial.ts'

/** `unknown`: Harbor or another machine may be working on the job, which cannot be seen from here. */
export type ViewJobState = 'running' | 'finished' | 'interrupted' | 'unknown'

/** A slice of a list. */
export interface ViewPage<T> {
  readonly items: readonly T[]
  readonly offset: number
  /** How many items match. */
  readonly total: number
  /** False while the job is still being read: there may be more. */
  readonly complete: boolean
}

/** A job in the list of jobs. */
export interface ViewJobRow {
  readonly id: string
  readonly name: string
  readonly dir: string
  readonly state: ViewJobState
  readonly agents: readonly string[]
  readonly models: readonly string[]
  readonly done: number
  readonly total: number | null
  readonly scored: number
  readonly cancelled: number
  readonly meanReward: number | null
  /** Infrastructure failures by boundary. */
  readonly failures: Readonly<Record<string, number>>
  readonly startedAt: string | null
  readonly finishedAt: string | null
}

export interface ViewJobs extends ViewPage<ViewJobRow> {
  /** Directories that look like jobs but cannot be read. */
  readonly broken: readonly { readonly name: string; readonly why: string }[]
}

/** The outcome of a trial, for a color: a reward above 0 but below 1 is `partial`. */
export type ViewOutcome = 'solved' | 'partial' | 'unsolved' | 'unverified' | 'failed' | 'cancelled' | 'running'

/** A trial in a list. */
export interface ViewTrialRow {
  readonly name: string
  readonly task: string
  readonly agent: string
  readonly model: string | null
  readonly attempt: number
  readonly outcome: ViewOutcome
  readonly reward: number | null
  /** Why the agent stopped, if it did not simply finish: `time limit`, `exit code 1`. */
  readonly stop: string | null
  readonly boundary: string | null
  readonly code: string | null
  readonly startedAt: string
  readonly seconds: number
  /** Seconds of environment set-up, agent set-up, agent execution and verification; null where a phase did not run. */
  readonly phaseSec: readonly (number | null)[]
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
  readonly retries: number
  /** True when system files that the agent changed were restored for the tests. */
  readonly tampered: boolean
}

export interface ViewMean {
  readonly mean: number
  readonly low: number
  readonly high: number
  readonly tasks: number
  readonly trials: number
}

/** How a number is distributed over trials. */
export interface ViewSpread {
  readonly count: number
  readonly sum: number
  readonly p10: number
  readonly p50: number
  readonly p90: number
  readonly max: number
}

/** The trials of one agent and model on one dataset. */
export interface ViewGroup {
  readonly key: string
  readonly agent: string
  readonly model: string | null
  readonly dataset: string | null
  readonly trials: number
  readonly scored: number
  readonly failed: number
  readonly cancelled: number
  /** Over the trials with a reward, with a 95 % interval. */
  readonly accuracy: ViewMean | null
  readonly passes: readonly { readonly k: number; readonly any: number; readonly all: number }[]
  readonly failures: readonly { readonly boundary: string; readonly code: string; readonly trials: number }[]
  readonly stops: Readonly<Record<string, number>>
  readonly spreads: Readonly<Record<string, ViewSpread | null>>
  readonly phaseSec: Readonly<Record<string, ViewSpread | null>>
}

/** Everything at the top of a job's page. */
export interface ViewJob {
  readonly job: ViewJobRow
  readonly layout: 'harbor' | 'packed'
  readonly groups: readonly ViewGroup[]
  /** Trials by outcome. */
  readonly outcomes: Readonly<Partial<Record<ViewOutcome, number>>>
  /** How many trials have been read; the numbers above cover these. */
  readonly indexed: number
  readonly complete: boolean
  readonly running: readonly ViewTrialRow[]
  /** Files of the job itself that can be shown. */
  readonly files: readonly string[]
}

/** A row of the grid: one task of one group, its attempts in order. */
export interface ViewTaskRow {
  readonly task: string
  readonly group: string
  readonly mean: number | null
  readonly cells: readonly Pick<ViewTrialRow, 'name' | 'attempt' | 'outcome' | 'reward'>[]
}

export interface ViewFile {
  /** Relative to the trial's directory. */
  readonly path: string
  readonly bytes: number
}

/** A test in the verifier's report (CTRF). */
export interface ViewTest {
  readonly name: string
  readonly status: string
  readonly message: string | null
  readonly seconds: number | null
}

export interface ViewTrial {
  readonly job: string
  readonly row: ViewTrialRow
  /** Why it ended, in one sentence. */
  readonly why: string
  /** Null while the trial runs. */
  readonly record: TrialRecord | null
  readonly files: readonly ViewFile[]
  /** True when there are more files than are listed. */
  readonly filesCut: boolean
  readonly tests: readonly ViewTest[]
  readonly system: readonly SystemReport[]
  readonly notes: readonly string[]
  /** The trials before and after it, by name. */
  readonly previous: string | null
  readonly next: string | null
  /** Commands for a shell. */
  readonly commands: readonly { readonly title: string; readonly command: string }[]
}

/** Text that may be cut; `chars` is its whole length where it is. */
export interface ViewText {
  readonly text: string
  readonly chars?: number
}

/** One step of a trajectory. All texts are hostile. */
export interface ViewStep {
  /** From 1, across continuations. */
  readonly number: number
  readonly source: 'system' | 'user' | 'agent'
  readonly timestamp: string | null
  readonly model: string | null
  readonly message: ViewText
  readonly reasoning: ViewText | null
  readonly calls: readonly { readonly name: string; readonly text: ViewText; readonly keystrokes: boolean }[]
  readonly observations: readonly { readonly text: ViewText; readonly subagents: readonly string[] }[]
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly copied: boolean
  /** Set when the step is too large to be shown: its place in the file. */
  readonly tooLarge?: { readonly at: number; readonly bytes: number }
}

/** Steps of one trajectory file. */
export interface ViewSteps {
  readonly file: string
  readonly offset: number
  readonly steps: readonly ViewStep[]
  /** Null until the end of the file has been reached. */
  readonly total: number | null
  /** The file in which it continues; known once this one has been read to the end. */
  readonly continues: string | null
  /** What is wrong with the file, if anything is. */
  readonly trouble: string | null
}

/** A call of a model, in a list. */
export interface ViewCall {
  readonly call: number
  readonly timestamp: string
  readonly conversation: string
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly latencyMs: number | null
  readonly finish: string
}

export interface ViewMessage {
  readonly role: string
  readonly text: ViewText
  readonly reasoning: ViewText | null
  readonly toolCalls: readonly { readonly name: string; readonly text: ViewText }[]
}

/** Exactly what was sent to a model, and what it replied. */
export interface ViewExchange extends ViewCall {
  readonly sent: readonly ViewMessage[]
  readonly reply: ViewMessage
  readonly tools: readonly string[]
}

export interface ViewCalls {
  readonly calls: readonly ViewCall[]
  readonly trouble: string | null
}

/** A window of a text file. */
export interface ViewTextWindow {
  readonly path: string
  /** In bytes. */
  readonly from: number
  readonly to: number
  readonly size: number
  readonly text: string
}

export interface ViewComparison {
  readonly runs: readonly {
    readonly name: string
    readonly job: string
    readonly agent: string
    readonly model: string | null
    readonly accuracy: ViewMean | null
    readonly state: 'complete' | 'partial'
    readonly reasons: readonly string[]
    /** Runs that cannot be told apart share a rank. */
    readonly rank: number | null
  }[]
  readonly pairs: readonly {
    readonly first: number
    readonly second: number
    readonly difference: ViewMean
    readonly adjustedP: number
    readonly verdict: 'first' | 'second' | 'undecided'
    readonly sentence: string
  }[]
  /** Mean rewards by task, in the order of the runs. */
  readonly tasks: readonly { readonly task: string; readonly rewards: readonly (number | null)[] }[]
}

/** What a live page is notified of. */
export interface ViewEvent {
  readonly jobs: readonly ViewJobRow[]
}
