import type { ZodObject, z } from 'zod'
import type { ModelClient } from '../../core/model.ts'
import type { Plugin } from '../../core/plugin.ts'
import type { DraftFile, RawRow, TaskDraft, TaskLineage } from '../../core/row.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { AnyStage, Dropped, Need } from '../../core/stage.ts'
import type { Random } from '../../lib/random.ts'
import type { SourceRow } from '../recipe/run-rows.ts'

type Options = Readonly<Record<string, unknown>>

/** What parts of a pipeline may depend on. */
export interface PipelineAt<Options> {
  readonly options: Options
  readonly seed: number
  /** The directory of the pipeline's file. */
  readonly dir: string
  /** `--input-dir`, or null. */
  readonly inputDir: string | null
}

/** What making a row may use. */
export interface MakeAt<Options> extends PipelineAt<Options> {
  /** Random choices that depend only on the seed and this row. */
  readonly random: Random
  /** Present when the pipeline says that it needs one. */
  readonly model: ModelClient | null
  readonly sandboxes: SandboxProvider | null
  readonly signal: AbortSignal
  /** Kept between runs; put caches here. */
  readonly workDir: string
  log(line: string): void
}

/** A stage by its name, or the plug-in itself when it comes from your own file. */
export type StageChoice = string | Plugin<AnyStage>

/** A stage with its options; a source's relative `path` starts from the pipeline's directory. */
export interface StageUse<Options> {
  readonly use: StageChoice | ((at: PipelineAt<Options>) => StageChoice)
  readonly with?: Readonly<Record<string, unknown>> | ((at: PipelineAt<Options>) => Readonly<Record<string, unknown>>)
}

/** A function that yields rows or drafts of tasks. */
export type RowStream<Options> = (
  at: PipelineAt<Options> & { readonly signal: AbortSignal },
) => AsyncIterable<SourceRow> | Iterable<SourceRow>

/** A file of rows next to the pipeline, a stage, or a function that yields rows. */
export type SourceUse<Options> = string | StageUse<Options> | RowStream<Options>

/** A task as a pipeline describes it; anything left out is filled in from the row and the pipeline. */
export interface NewDraft extends Omit<TaskDraft, 'name' | 'lineage'> {
  /** Unique among the pipeline's tasks (default: the pipeline's name and the row's id). */
  readonly name?: string
  readonly lineage?: Partial<TaskLineage>
}

type Made = NewDraft | Dropped
export type MakeRow<Options> = (
  row: RawRow,
  at: MakeAt<Options>,
) => Made | readonly Made[] | Promise<Made | readonly Made[]> | AsyncIterable<Made>

/** How agents are run over the tasks. */
export interface TraceRequest {
  readonly agent: string
  readonly model: string | null
  readonly nConcurrent: number
  readonly episodes: 'last' | 'all'
  readonly filter: 'success' | 'failure' | 'none'
  readonly subagents: boolean
  /** Run and score, but export nothing. */
  readonly evalOnly: boolean
}

/** A pipeline as plain data: where rows come from, and how a row becomes a task. */
export interface Pipeline<Schema extends ZodObject = ZodObject> {
  readonly name: string
  readonly summary: string
  /** The pipeline's own options: `maxRows` is `--max-rows` on the command line. */
  readonly options?: Schema
  readonly source: {
    /** A few rows in the real source's shape, shipped with the pipeline so that it runs offline. */
    readonly fixture: SourceUse<z.output<Schema>>
    /** Null when the fixture is the only source, for example because rows are invented here. */
    readonly real: SourceUse<z.output<Schema>> | null
  }
  /** What the real source requires, in addition to what the stage that reads it declares. */
  readonly needs?: (at: PipelineAt<z.output<Schema>>) => readonly Need[]
  /** Turns a row of the source into the rows that tasks are made of, where the two differ. */
  readonly split?: (row: RawRow, at: PipelineAt<z.output<Schema>>) => readonly RawRow[]
  /** How a row becomes tasks; not needed if the source yields task drafts. */
  readonly make?: MakeRow<z.output<Schema>> | StageUse<z.output<Schema>>
  /** A word for how a row becomes a task, for the lineage (default: the name of the maker or of the pipeline). */
  readonly strategy?: string
  /** Whether a model helps to make tasks, which may depend on the options (default: no). */
  readonly needsModel?: boolean | ((options: z.output<Schema>) => boolean)
  /**
   * Whether a model judges its tasks, in which case they are not made without one; otherwise this is determined task by
   * task.
   */
  readonly judged?: boolean
  /** Files added to every task that has none of that name, for example tests/test.sh. */
  readonly verifier?: { readonly files: Readonly<Record<string, string | DraftFile>>; readonly timeoutSec?: number }
  /** For every task that does not specify its own. */
  readonly environment?: { readonly dockerfile?: string; readonly config?: TaskDraft['config'] }
  readonly sampling?: Sampling
  /** How agents run over the tasks, unless the command line overrides it. */
  readonly traces?: Partial<TraceRequest>
  /** Where a run on the real source is published, unless the command line overrides it: `org/name` or `file:PATH`. */
  readonly targets?: { readonly tasks?: string; readonly traces?: string }
}

/** Which rows of a source to use. Any sampling needs the whole source in memory. */
export interface Sampling {
  /** `shuffled`: in an order that depends only on the seed. */
  readonly order?: 'source' | 'shuffled'
  /** At most this many rows. */
  readonly rows?: number
  /** With `rows`: takes as many of each value of this field as its share of the source. */
  readonly stratifyBy?: string
}

/** Whether a pipeline uses a model to make tasks with these options. */
export function asksModel({ needsModel = false }: Pick<Pipeline, 'needsModel'>, options: Options): boolean {
  return typeof needsModel === 'function' ? needsModel(options) : needsModel
}

/** Declares a pipeline: the default export of data/NAME/generate.ts. */
export function definePipeline<Schema extends ZodObject = ZodObject>(pipeline: Pipeline<Schema>): Pipeline<Schema> {
  return pipeline
}
