import type { Arguments } from './arguments.ts'
import type {
  GenerationContext,
  GenerationRequest,
  GenerationResult,
  GenerationStage,
  TraceRequest,
} from './request.ts'

/** Defaults of a generator. */
export interface GeneratorDefaults {
  /** Where things are published: `org/name` or `file:PATH`. */
  readonly targets?: { readonly tasks?: string; readonly traces?: string }
  readonly inputDir?: string
  readonly trace?: Partial<TraceRequest>
}

/**
 * A pipeline as a class, for those that need code at the points between reading the command line and the result.
 * Everything else (options, resume, limits, traces, publication) comes with it.
 */
export abstract class DataGenerator {
  abstract readonly name: string
  readonly summary: string = ''
  readonly defaults: GeneratorDefaults = {}
  /** Whether it is known that a model judges the tasks. */
  readonly judged: boolean = false

  /** Whether making tasks must wait for a model on GPUs; `@gpuRequired` on the class says so too. */
  get gpuRequired(): boolean {
    return markedClasses.has(this.constructor)
  }

  /** Adds options of this pipeline's own. */
  addArguments(_args: Arguments): void {}

  /** What is to be remembered of a request, beside what every request has. */
  buildRequestMetadata(_request: GenerationRequest): Readonly<Record<string, unknown>> {
    return {}
  }

  /** Whether a model must answer before this stage begins. */
  requiresEngineForStage(stage: GenerationStage, _options: GenerationRequest['options'] = {}): boolean {
    return stage !== 'tasks' || this.gpuRequired
  }

  /** Makes the tasks; a result, or just the folder they are in. */
  abstract runTaskGeneration(request: GenerationRequest, context: GenerationContext): Promise<GenerationResult | string>

  /** Runs agents over the tasks. */
  runTraceGeneration(
    request: GenerationRequest,
    context: GenerationContext,
    tasks: GenerationResult,
  ): Promise<GenerationResult> {
    return context.runTraces(tasks.datasetPath, request)
  }
}

const markedClasses = new WeakSet<object>()

/** Marks a class of generators whose task stage needs GPUs: `@gpuRequired`, or called with the class. */
export function gpuRequired<C extends abstract new (...args: never[]) => DataGenerator>(generator: C, _?: unknown): C {
  markedClasses.add(generator)
  return generator
}
