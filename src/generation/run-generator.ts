import { BoundaryError, isAbort, messageOf, UserError } from '../core/errors.ts'
import type { DataGenerator } from './data-generator.ts'
import { GenerationError, type GenerationPhase, InputValidationError, TraceFailure, UploadFailure } from './errors.ts'
import type { GenerationContext, GenerationRequest, GenerationResult, Publish } from './request.ts'
import { asResult, refuseEmpty } from './result.ts'

/** What a run of a pipeline came to, stage by stage. */
export interface GenerationOutcome {
  readonly tasks: GenerationResult | null
  readonly traces: GenerationResult | null
}

/** Runs the stages that were asked for, one after the other; an empty dataset goes nowhere. */
export async function runGenerator(
  generator: DataGenerator,
  asked: GenerationRequest,
  context: GenerationContext,
  publish: Publish,
): Promise<GenerationOutcome> {
  const request = { ...asked, metadata: { ...asked.metadata, ...generator.buildRequestMetadata(asked) } }
  const tasks = request.stage === 'traces' ? null : await runTaskStage(generator, request, context, publish)
  if (request.stage === 'tasks') return { tasks, traces: null }
  const given = tasks ?? asResult(tasksInput(request))
  const made = await inPhase('postprocess', () => generator.runTraceGeneration(request, context, given))
  const traces = await published(generator, made, 'traces', request, context, publish)
  return { tasks, traces }
}

async function runTaskStage(
  generator: DataGenerator,
  request: GenerationRequest,
  context: GenerationContext,
  publish: Publish,
): Promise<GenerationResult> {
  const made = asResult(await inPhase('generate', () => generator.runTaskGeneration(request, context)))
  refuseEmpty(generator.name, made)
  return published(generator, made, 'tasks', request, context, publish)
}

/** Where a dataset goes: said on the command line, or by the pipeline; nowhere unless one of them asks for it. */
async function published(
  generator: DataGenerator,
  result: GenerationResult,
  kind: 'tasks' | 'traces',
  request: GenerationRequest,
  { signal }: GenerationContext,
  publish: Publish,
): Promise<GenerationResult> {
  const isLast = request.stage !== 'both' || kind === 'traces'
  // What comes with a pipeline is for trying it out: it must not replace the real dataset.
  const usual = request.source.kind === 'real' ? generator.defaults.targets?.[kind] : undefined
  const target = (isLast ? request.targetRepo : null) ?? usual ?? null
  if (!request.upload || target === null || (kind === 'traces' && request.trace.evalOnly)) return result
  const message = `${generator.name}: ${kind}, seed ${request.seed}`
  try {
    return { ...result, uploadedRepo: await publish({ dir: result.datasetPath, kind, target, message, signal }) }
  } catch (error) {
    if (error instanceof UserError || isAbort(error)) throw error
    const said = messageOf(error)
    const where = said.startsWith(target) ? '' : `${target}: `
    throw new UploadFailure(`${where}${said}; everything is still in ${result.datasetPath}`, error)
  }
}

function tasksInput({ tasksInput: given }: GenerationRequest): string {
  if (given !== null) return given
  throw new InputValidationError(
    '--stage traces: expected a folder of tasks, got none',
    'give it with --tasks-input DIR, or make tasks first with --stage both',
  )
}

/** What a pipeline's own code throws is its failure in that phase; what has a place already keeps it. */
async function inPhase<T>(stage: GenerationPhase, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UserError || error instanceof BoundaryError || isAbort(error)) throw error
    if (stage === 'postprocess') throw new TraceFailure(messageOf(error), error)
    throw new GenerationError(messageOf(error), { stage, cause: error })
  }
}
