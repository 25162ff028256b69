import type { ModelClient } from '../../core/model.ts'
import type { Plugin } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { AnyStage, MapStage, Source } from '../../core/stage.ts'
import type { MadeTasks } from '../recipe/run-rows.ts'
import type { TraceRequest } from './pipeline.ts'
import type { TasksToMake } from './task-stages.ts'

/** What to make: tasks, traces of tasks, or both in turn. */
export type GenerationStage = 'tasks' | 'traces' | 'both'

/** `partial`: something was made, and there was an infrastructure failure. `failed`: nothing was made. */
export type GenerationStatus = 'success' | 'partial' | 'failed'

/** Where a pipeline's rows come from: its small fixture, its real source, or a file of the same shape. */
export type SourceChoice =
  | { readonly kind: 'fixture' }
  | { readonly kind: 'real' }
  | { readonly kind: 'file'; readonly path: string }

/** Everything requested of one pipeline run, with all defaults filled in. */
export interface GenerationRequest<Options = Readonly<Record<string, unknown>>> {
  readonly stage: GenerationStage
  readonly source: SourceChoice
  /** At most this many tasks; null for all. */
  readonly limit: number | null
  readonly seed: number
  /** The directory of the pipeline's file; relative paths in it start from there. */
  readonly pipelineDir: string
  readonly inputDir: string | null
  readonly outputDir: string
  /** A folder of tasks for the stage `traces`; null when the tasks are made here. */
  readonly tasksInput: string | null
  readonly targetRepo: string | null
  readonly upload: boolean
  /** Whether every task must pass the verification spine to be accepted. */
  readonly check: boolean
  /** Overrides for every task's environment. */
  readonly sandbox: {
    readonly cpus: number | null
    readonly memoryMb: number | null
    readonly storageMb: number | null
    readonly gpus: number | null
  }
  readonly model: string | null
  readonly trace: TraceRequest
  /** The pipeline's own options. */
  readonly options: Options
  /** What else the pipeline wants recorded. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What a run of a pipeline may use. */
export interface GenerationContext {
  readonly signal: AbortSignal
  /** Kept between runs; put caches here. */
  readonly workDir: string
  /** Null when the stage declared that it needs none. */
  readonly model: ModelClient | null
  readonly sandboxes: SandboxProvider | null
  log(line: string): void
  /** Makes a stage by its name or from its plug-in. */
  makeStage(
    stage: string | Plugin<AnyStage>,
    options: Readonly<Record<string, unknown>>,
  ): Promise<Source | MapStage<never, unknown>>
  /** Makes tasks from rows; includes journal, resume, check, rejects and limit. */
  makeTasks(work: TasksToMake): Promise<MadeTasks>
  /** Runs agents over a folder of tasks and exports their traces. */
  runTraces(tasksDir: string, request: GenerationRequest): Promise<GenerationResult>
}

/** The result of one stage of a pipeline. */
export interface GenerationResult {
  /** The folder that was made. */
  readonly datasetPath: string
  readonly status: GenerationStatus
  readonly uploadedRepo: string | null
  /** Other outputs, by name. */
  readonly artifacts: Readonly<Record<string, string>>
  /** Counts and reasons. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Publishes a folder and returns its location. `target` is `org/name` or `file:PATH`. */
export type Publish = (publication: {
  readonly dir: string
  readonly kind: 'tasks' | 'traces'
  readonly target: string
  readonly message: string
  readonly signal: AbortSignal
}) => Promise<string>
