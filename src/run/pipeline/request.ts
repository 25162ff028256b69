import type { ModelClient } from '../../core/model.ts'
import type { Plugin } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { AnyStage, MapStage, Source } from '../../core/stage.ts'
import type { MadeTasks } from '../recipe/run-rows.ts'
import type { TraceRequest } from './pipeline.ts'
import type { TasksToMake } from './task-stages.ts'

/** What is to be made: tasks, traces of tasks, or both one after the other. */
export type GenerationStage = 'tasks' | 'traces' | 'both'

/** `partial`: something was made, and there was an infrastructure failure. `failed`: nothing was made. */
export type GenerationStatus = 'success' | 'partial' | 'failed'

/** Where a pipeline's rows come from: the few that come with it, its real source, or a file of the same shape. */
export type SourceChoice =
  | { readonly kind: 'fixture' }
  | { readonly kind: 'real' }
  | { readonly kind: 'file'; readonly path: string }

/** Everything one run of a pipeline was asked to do, every default filled in. */
export interface GenerationRequest<Options = Readonly<Record<string, unknown>>> {
  readonly stage: GenerationStage
  readonly source: SourceChoice
  /** At most this many tasks; null for all. */
  readonly limit: number | null
  readonly seed: number
  /** Where the pipeline's file lies: what relative paths in it count from. */
  readonly pipelineDir: string
  readonly inputDir: string | null
  readonly outputDir: string
  /** A folder of tasks for the stage `traces`; null when the tasks are made here. */
  readonly tasksInput: string | null
  readonly targetRepo: string | null
  readonly upload: boolean
  /** Whether every task goes through the verification spine before it counts. */
  readonly check: boolean
  /** Laid over every task's environment. */
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
  /** What the pipeline wants to be remembered beside them. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What a run of a pipeline may use. */
export interface GenerationContext {
  readonly signal: AbortSignal
  /** Kept between runs: caches go here. */
  readonly workDir: string
  /** Null when the stage was said to need none. */
  readonly model: ModelClient | null
  readonly sandboxes: SandboxProvider | null
  log(line: string): void
  /** Makes a stage by its name or from its plug-in. */
  makeStage(
    stage: string | Plugin<AnyStage>,
    options: Readonly<Record<string, unknown>>,
  ): Promise<Source | MapStage<never, unknown>>
  /** Makes tasks of rows: journal, resume, check, rejects and limit come with it. */
  makeTasks(work: TasksToMake): Promise<MadeTasks>
  /** Runs agents over a folder of tasks and exports what they did. */
  runTraces(tasksDir: string, request: GenerationRequest): Promise<GenerationResult>
}

/** What a stage of a pipeline came to. */
export interface GenerationResult {
  /** The folder that was made. */
  readonly datasetPath: string
  readonly status: GenerationStatus
  readonly uploadedRepo: string | null
  /** Other things that were made, by name. */
  readonly artifacts: Readonly<Record<string, string>>
  /** Counts and reasons. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Puts a folder where others find it and says where that is. `target` is `org/name` or `file:PATH`. */
export type Publish = (publication: {
  readonly dir: string
  readonly kind: 'tasks' | 'traces'
  readonly target: string
  readonly message: string
  readonly signal: AbortSignal
}) => Promise<string>
