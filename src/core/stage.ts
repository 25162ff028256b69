import type { Expectation, Rehearsal } from './expectation.ts'
import type { ModelClient } from './model.ts'
import type { RowJudge } from './ordered-filter.ts'
import type { ReplayResult } from './replay.ts'
import type { RowKind, TaskRow } from './row.ts'
import type { SandboxProvider } from './sandbox.ts'
import type { MadeSoFar, SinkInput, SinkReport, SqlSession, WholeInput } from './whole-set.ts'

export type { Expectation, Rehearsal } from './expectation.ts'

/** A row that goes no further, and why. The reason is a short kebab-case word to count by; the detail is for people. */
export interface Dropped {
  readonly drop: string
  readonly detail?: string
  readonly id?: string
  /**
   * Set after an infrastructure failure, which says nothing about the row: where rows are kept one by one, the next run
   * tries it again.
   */
  readonly retry?: boolean
}

/** What every stage may need from its caller. */
export interface StageContext {
  /** Every random choice of a stage derives from this and the row. */
  readonly seed: number
  readonly signal: AbortSignal
  /** The stage's own directory, kept between runs of the same stage on the same input. */
  readonly workDir: string
  /**
   * The model of a pipeline; absent when it has none, and in recipes, whose stages name their own. A stage that needs
   * one then throws UserError before its first row.
   */
  readonly model?: ModelClient | undefined
  /** The sandboxes in which a pipeline tries what it makes; absent when it has none, and in recipes. */
  readonly sandboxes?: SandboxProvider | undefined
  /** At most this many rows are read from a source; absent: all of them. */
  readonly limit?: number | undefined
  /** In a run with a limit: how many rows the stage would take without one; null when unknown. Absent: there is no limit. */
  readonly wholeRows?: number | null | undefined
  /** What only a recipe can do for a stage; absent outside of one. */
  readonly services?: StageServices
  /** Set when no output of the run is meant to be used. */
  readonly rehearsal?: Rehearsal | undefined
  /** Keeps what a whole-set stage found out besides the rows it chose; absent where nothing records it. */
  saveResult?(result: object): Promise<void>
  /** What a whole-set stage above this one found out; null when it kept nothing. */
  loadResult?(stage: string): Promise<unknown>
  log(line: string): void
}

/** Which model a stage talks to, and where. */
export interface ModelSettings {
  readonly model: string
  /** Default: `openai-compatible` with an address, otherwise by the model's prefix. */
  readonly engine?: string | undefined
  readonly apiBase?: string | undefined
  /** The environment variable that holds the key. */
  readonly apiKeyEnv?: string | undefined
  /** The engine's own options. */
  readonly options?: Readonly<Record<string, unknown>> | undefined
}

export interface PlugInChoice {
  readonly name: string
  readonly options?: Readonly<Record<string, unknown>> | undefined
}

export interface RolloutRequest {
  /** A folder of task directories, one trial each. */
  readonly tasksDir: string
  /** Where the job's record lives: the same directory resumes the job. */
  readonly jobDir: string
  readonly agent: PlugInChoice
  readonly model: ModelSettings | null
  readonly sandbox: PlugInChoice
  readonly concurrency: number
  readonly timeoutMultiplier?: number | undefined
  /** Lets agents change the system under the tests of every task. */
  readonly agentMayModifySystem?: boolean | undefined
  /** The model that scores tasks with a judge. */
  readonly judge?: ModelSettings | undefined
  /** For this job and its sibling jobs together. */
  readonly budgetUsd?: number | undefined
  readonly signal: AbortSignal
  /** Called with lines about progress. */
  readonly tell?: (line: string) => void
}

/** What became of a trial: the row of a trace, or why there is none. */
export type RolledOut = (object | Dropped) & {
  /** The name of its task's folder. */
  readonly folder: string
  /**
   * The reward of the whole trial; null after an infrastructure failure or without verification: neither is the agent's
   * failure.
   */
  readonly scored: number | null
}

/** Who gives a second opinion on tasks: a solver that sees only the instruction, and a reviewer of its results. */
export interface OpinionSettings {
  readonly solver: ModelSettings
  /** Default: the solver's model. */
  readonly reviewer?: ModelSettings | undefined
  /** Default: terminus-2. */
  readonly agent?: PlugInChoice | undefined
  /** How often a task is attempted; default: 1. */
  readonly tries?: number | undefined
}

/** How tasks go through the verification spine. */
export interface SpineRequest {
  /** Where the ledger of judges' calls is kept: the same directory continues it. */
  readonly booksDir: string
  readonly sandbox: PlugInChoice
  readonly concurrency: number
  /** The model that scores tasks with a judge. */
  readonly judge?: ModelSettings | undefined
  /** Absent: no second opinion. */
  readonly opinion?: OpinionSettings | undefined
  /** For this ledger and its siblings together. */
  readonly budgetUsd?: number | undefined
  /** After the lints, checks only whether environments start. */
  readonly startOnly?: boolean | undefined
  /** How often a start that failed for a reason outside the task is repeated (default: 0). */
  readonly retries?: number | undefined
  readonly signal: AbortSignal
  /** Called with lines about the outcome. */
  readonly tell?: (line: string) => void
}

export interface CheckedTask {
  readonly dir: string
  /** Null when the task passed; otherwise the first law it broke. */
  readonly reason: string | null
  readonly detail?: string | undefined
}

/** Rows of traces to replay before they become a dataset. */
export interface ReplaySample {
  /** Where the recipe keeps its output; the jobs of its rollouts are below it. */
  readonly runDir: string
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** The tasks of the recipe with these digests. */
  tasks(digests: readonly string[]): Promise<ReadonlyMap<string, TaskRow>>
  readonly signal: AbortSignal
}

/** Work that stages request and the orchestrators do. */
export interface StageServices {
  model(settings: ModelSettings): Promise<ModelClient>
  /**
   * Runs the trials and gives their traces as rows; a trial that left no trace comes as a dropped row whose reason is
   * the trial's end: `failed-sandbox`, `cancelled`, ...
   */
  rollOut(request: RolloutRequest): AsyncIterable<RolledOut>
  /** The verification spine. */
  check(dirs: readonly string[], request: SpineRequest): AsyncIterable<CheckedTask>
  /** Runs a pipeline, named under data/ or by its file, and returns the directories of the tasks it made. */
  pipeline(request: {
    readonly pipeline: string
    /** What `ot-agent generate` takes, without the dashes. */
    readonly args: Readonly<Record<string, unknown>>
    readonly outDir: string
    readonly signal: AbortSignal
  }): AsyncIterable<string | Dropped>
  /** A digest of everything besides its arguments that a pipeline's tasks depend on: its code and its fixture. */
  pipelineFingerprint(pipeline: string): Promise<string>
  /** Replays rows to their agents in fresh sandboxes. */
  replay(sample: ReplaySample): Promise<ReplayResult>
}

/** Something a stage cannot run without, as plain data: `recipe check` and the start of a run look whether it is there. */
export type Need =
  | {
      readonly kind: 'file' | 'folder' | 'path'
      readonly path: string
      readonly what: string
      readonly provide: string
    }
  | { readonly kind: 'model'; readonly model: ModelSettings }
  | { readonly kind: 'agent'; readonly agent: PlugInChoice; readonly hasModel: boolean }
  | { readonly kind: 'sandbox'; readonly sandbox: PlugInChoice }
  /** On the Hub, `org/name` or `file:PATH`. */
  | { readonly kind: 'dataset'; readonly repo: string; readonly revision: string | null }
  | { readonly kind: 'pipeline'; readonly pipeline: string; readonly args: Readonly<Record<string, unknown>> }
  /** The stage itself has already looked. */
  | { readonly kind: 'missing'; readonly what: string; readonly provide: string }

/** Any stage can say what to expect of it, given how many rows it would take; by default it produces as many. */
export interface Expecting {
  expect?(taken: number | null, at: StageContext): Promise<Expectation> | Expectation
  /** What it cannot run without; touches nothing. */
  needs?(at: StageContext): Promise<readonly Need[]> | readonly Need[]
}

/** What the recipe engine needs to tell whether the rows it kept are still valid. */
interface Cached {
  /** Increased when the same rows and options would now give something else. */
  readonly version?: number
  /**
   * The part of its options that its rows depend on; default: all of them. How many calls run at once, for example, is
   * not part of it.
   */
  readonly identity?: unknown
  /** A digest of what its rows depend on besides its options and input, for example files it reads. The same digest promises the same rows. */
  fingerprint?(at: StageContext): Promise<string>
  /** A digest of its code, for a stage from outside this package. */
  readonly code?: string
}

/** Where rows come from. */
export interface Source<Out = unknown> extends Expecting, Cached {
  readonly kind: 'source'
  readonly gives: RowKind
  /** Worth keeping: its output is on disk before the next stage sees it. */
  readonly expensive?: boolean
  rows(at: StageContext): AsyncIterable<Out | Dropped>
}

/**
 * Rows in, rows out, in order, as they come. A stage that fails for one row drops that row with a reason; it throws only
 * when no later row could do better.
 */
export interface MapStage<In = unknown, Out = unknown> extends Expecting, Cached {
  readonly kind: 'map'
  readonly takes: RowKind
  readonly gives: RowKind
  /** Worth keeping: its output is on disk before the next stage sees it. */
  readonly expensive?: boolean
  run(rows: AsyncIterable<In>, at: StageContext): AsyncIterable<Out | Dropped>
}

/**
 * True keeps a row. A string drops it for that reason, a short kebab-case word to count by; the detail is for people.
 */
export type Verdict = boolean | string | { readonly reason: string; readonly detail: string }

/**
 * Keeps or drops each row on its own. The recipe applies it once more to its final rows, so the same row must get the
 * same verdict.
 */
export interface RowFilter<Row = unknown> extends Expecting, Cached {
  readonly kind: 'filter'
  readonly takes: RowKind
  keep(row: Row, at: StageContext): Verdict | Promise<Verdict>
}

/**
 * A filter whose verdict is an SQL expression over the row's columns: null keeps the row, a text is the reason to drop
 * it. Neighbours fuse into one scan of the file, which reads only the columns that a filter looks at.
 */
export interface SqlFilter extends Expecting, Cached {
  readonly kind: 'sql-filter'
  readonly takes: RowKind
  readonly reason: string
}

/**
 * A filter that has to see every row before it can judge the first. Applied again to a recipe's final rows, it must
 * drop nothing.
 */
export interface WholeFilter extends Expecting, Cached {
  readonly kind: 'set-filter'
  readonly takes: RowKind
  /**
   * Returns the name of a table `(row BIGINT, id VARCHAR, reason VARCHAR, detail VARCHAR)` with a line for each dropped
   * row.
   */
  findDrops(input: WholeInput, at: StageContext & { readonly sql: SqlSession }): Promise<string>
}

/**
 * Judges each row in order, by the row itself and the kept rows before it. Neighbours share one scan. Applied again, it
 * must drop nothing.
 */
export interface OrderedFilter extends Expecting, Cached {
  readonly kind: 'ordered-filter'
  readonly takes: RowKind
  /**
   * What it looks at: an SQL expression over a row's columns that gives bytes (BLOB). Filters that look at the same get
   * the very same bytes.
   */
  readonly looksAt: string
  /** Called before the first row; at most `rows` rows follow. */
  begin(rows: number, at: StageContext): Promise<RowJudge> | RowJudge
}

/**
 * A stage that has to see every row before it can choose one: mix, sample, allocate. It never moves rows itself; it
 * returns the name of a table or view `(input INTEGER, row BIGINT, position BIGINT, reason VARCHAR, detail VARCHAR,
 * signals VARCHAR)`. A line without a reason puts that row at that position of the output, and may come more than once;
 * `signals` is null, or JSON merged into the row's own. A line with a reason drops the row. A row without a line is
 * dropped as `not-chosen`.
 */
export interface WholeStage extends Expecting, Cached {
  readonly kind: 'mixer'
  readonly takes: RowKind
  /** Takes the output of every branch above it, not only of the stage right above. */
  readonly many?: boolean
  choose(inputs: readonly WholeInput[], at: StageContext & { readonly sql: SqlSession }): Promise<string>
}

/** Writes a recipe's output in a form that others read, into a directory that appears whole or not at all. */
export interface Sink extends Expecting, Cached {
  readonly kind: 'exporter'
  readonly takes: RowKind
  /** How many of its rows are replayed before they are written, and whether all of them have to hold. */
  readonly replay?: { readonly rows: number; readonly require: boolean }
  write(
    input: SinkInput,
    at: StageContext & { readonly sql: SqlSession; readonly outDir: string; readonly made: MadeSoFar },
  ): Promise<SinkReport>
}

type SetFilter = WholeFilter | OrderedFilter

/** Anything that can appear in a recipe. */
// biome-ignore lint/suspicious/noExplicitAny: a table of stages holds rows of every kind; the recipe checks that they fit
export type AnyStage = Source<any> | MapStage<any, any> | RowFilter<any> | SqlFilter | SetFilter | WholeStage | Sink

/** The kind of rows a stage takes; null for a source. */
export function takenBy(stage: AnyStage): RowKind | null {
  return stage.kind === 'source' ? null : stage.takes
}

/** Whether a stage's output is a row that was dropped. */
export function isDropped(row: unknown): row is Dropped {
  return typeof row === 'object' && row !== null && 'drop' in row && typeof row.drop === 'string'
}
