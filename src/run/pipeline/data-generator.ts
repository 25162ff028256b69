import { type ZodObject, type ZodType, z } from 'zod'
import type { Pipeline, TraceRequest } from './pipeline.ts'
import type { GenerationContext, GenerationRequest, GenerationResult, GenerationStage } from './request.ts'

/** Defaults of a generator. */
export interface GeneratorDefaults {
  /** Where things are published: `org/name` or `file:PATH`. */
  readonly targets?: { readonly tasks?: string; readonly traces?: string }
  readonly inputDir?: string
  readonly trace?: Partial<TraceRequest>
}

/** Where a class adds its own options. */
export interface Arguments {
  /** Adds an option, `maxRows` for `--max-rows`; its schema defines its type and default. */
  add(name: string, schema: ZodType, help?: string): this
  /** Adds every key of a schema as an option. */
  addAll(schema: ZodObject): this
}

/**
 * A pipeline as a class, for those that need their own code between reading the command line and the result. Everything
 * else (options, resume, limits, traces, publication) is included.
 */
export abstract class DataGenerator {
  abstract readonly name: string
  readonly summary: string = ''
  readonly defaults: GeneratorDefaults = {}
  /** Whether a model is known to judge the tasks. */
  readonly judged: boolean = false

  /** Whether making tasks must wait for a model on GPUs; `@gpuRequired` on the class also sets it. */
  get gpuRequired(): boolean {
    return markedClasses.has(this.constructor)
  }

  /** Adds this pipeline's own options. */
  addArguments(_args: Arguments): void {}

  /** What to record of a request, in addition to what is recorded for every request. */
  buildRequestMetadata(_request: GenerationRequest): Readonly<Record<string, unknown>> {
    return {}
  }

  /** Whether a model must answer before this stage begins. */
  requiresEngineForStage(stage: GenerationStage, _options: GenerationRequest['options'] = {}): boolean {
    return stage !== 'tasks' || this.gpuRequired
  }

  /** Makes the tasks; returns a result, or just the folder they are in. */
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

/** Marks a class of generators whose task stage needs GPUs: as a decorator `@gpuRequired`, or called with the class. */
export function gpuRequired<C extends abstract new (...args: never[]) => DataGenerator>(generator: C, _?: unknown): C {
  markedClasses.add(generator)
  return generator
}

/** Makes a pipeline like any other from a class. Its rows come from its own code, so it declares no source. */
export function pipelineOfClass(generator: DataGenerator): Pipeline {
  const { name, summary, judged, defaults } = generator
  const { targets, trace } = defaults
  return {
    ...{ name, summary, judged, options: optionsOf(generator), source: { fixture: () => [], real: () => [] } },
    needsModel: (options) => generator.requiresEngineForStage('tasks', options),
    ...(targets && { targets }),
    ...(trace && { traces: trace }),
  }
}

function optionsOf(generator: DataGenerator): ZodObject {
  const shape: Record<string, ZodType> = {}
  const args: Arguments = {
    add(name, schema, help) {
      shape[name] = help === undefined ? schema : schema.describe(help)
      return this
    },
    addAll(schema) {
      Object.assign(shape, schema.shape)
      return this
    },
  }
  generator.addArguments(args)
  return z.strictObject(shape)
}
