import { dirname, join } from 'node:path'
import { BoundaryError, blame, isAbort, messageOf, UserError } from '../../core/errors.ts'
import { exists, nearPath } from '../../lib/files.ts'
import { readJsonLines } from '../../lib/jsonl.ts'
import { oneLine } from '../../lib/visible.ts'
import type { MadeTasks } from '../recipe/run-rows.ts'
import type { DataGenerator } from './data-generator.ts'
import type { Pipeline } from './pipeline.ts'
import { tasksOf } from './pipeline-stages.ts'
import type { GenerationContext, GenerationRequest, GenerationResult, Publish } from './request.ts'

/** A pipeline, and the class it was written as, if any. */
export interface RunnablePipeline {
  readonly pipeline: Pipeline
  readonly hooks: DataGenerator | null
}

/** The result of a pipeline run, stage by stage. */
export interface GenerationOutcome {
  readonly tasks: GenerationResult | null
  readonly traces: GenerationResult | null
}

/** Runs the requested stages in turn; an empty dataset is not passed on. */
export async function runGeneration(
  { pipeline, hooks }: RunnablePipeline,
  asked: GenerationRequest,
  context: GenerationContext,
  publish: Publish,
): Promise<GenerationOutcome> {
  const request = { ...asked, metadata: { ...asked.metadata, ...hooks?.buildRequestMetadata(asked) } }
  const publishing = { name: pipeline.name, targets: pipeline.targets ?? {}, request, signal: context.signal, publish }
  const tasks =
    request.stage === 'traces'
      ? null
      : await published('tasks', await tasksMade({ pipeline, hooks }, request, context), publishing)
  if (request.stage === 'tasks') return { tasks, traces: null }
  const given = tasks ?? asResult(tasksInput(request))
  const run = () =>
    hooks ? hooks.runTraceGeneration(request, context, given) : context.runTraces(given.datasetPath, request)
  const traces = await published('traces', await blame('agent', run, { code: 'TraceFailure' }), publishing)
  return { tasks, traces }
}

async function tasksMade(
  { pipeline, hooks }: RunnablePipeline,
  request: GenerationRequest,
  context: GenerationContext,
): Promise<GenerationResult> {
  const make = async () =>
    hooks
      ? asResult(await hooks.runTaskGeneration(request, context))
      : resultOf(await context.makeTasks(await tasksOf(pipeline, request, context)))
  const made = await blame('task', make, { code: 'GenerationError' })
  await refuseEmpty(pipeline.name, made)
  return made
}

/** The result of making tasks as a stage's result; a set without a single task is a failure. */
function resultOf({ tasksDir, ...counts }: MadeTasks): GenerationResult {
  const status = counts.tasks === 0 ? 'failed' : counts.failed > 0 ? 'partial' : 'success'
  return { datasetPath: tasksDir, status, uploadedRepo: null, artifacts: {}, metadata: counts }
}

/** Turns a folder into a result, for generators that return only where their tasks are. */
function asResult(made: GenerationResult | string): GenerationResult {
  if (typeof made !== 'string') return made
  return { datasetPath: made, status: 'success', uploadedRepo: null, artifacts: {}, metadata: {} }
}

/** Stops at an empty dataset and names the commonest reasons, with the details of the first row. */
async function refuseEmpty(name: string, { status, metadata, datasetPath }: GenerationResult): Promise<void> {
  if (status !== 'failed') return
  if (metadata.rows === 0)
    throw new UserError(
      `${name}: expected rows to make tasks from, found none`,
      'check that the source is not empty',
      3,
    )
  const reasons = Object.entries(Object(metadata.rejects) as Record<string, number>).sort(([, a], [, b]) => b - a)
  const why = reasons
    .slice(0, 3)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ')
  const rejects = join(dirname(datasetPath), 'rejects.jsonl')
  const example = await exampleOf(rejects, reasons[0]?.[0])
  throw new BoundaryError(
    'task',
    `${name}: expected at least one task, got none of ${metadata.rows ?? 0} rows${why === '' ? '' : ` (${why})`}\nhint: ${example}${nearPath(rejects)} lists the reason for each row`,
    { code: 'GenerationError', retryable: false },
  )
}

/** What the first row says that was left out for a reason, where it says more than the reason. */
async function exampleOf(rejects: string, reason: string | undefined): Promise<string> {
  if (reason === undefined || !(await exists(rejects))) return ''
  for await (const line of readJsonLines(rejects)) {
    const { row, reason: of, detail } = Object(line) as Readonly<Record<string, unknown>>
    if (of !== reason) continue
    return typeof detail === 'string' && detail !== '' ? `${row}: ${oneLine(detail).slice(0, 300)}; ` : ''
  }
  return ''
}

function tasksInput({ tasksInput: given }: GenerationRequest): string {
  if (given !== null) return given
  throw new UserError(
    '--stage traces: expected a folder of tasks, got none',
    'pass one with --tasks-input DIR, or also make tasks with --stage both',
  )
}

interface Publishing {
  readonly name: string
  readonly targets: NonNullable<Pipeline['targets']>
  readonly request: GenerationRequest
  readonly signal: AbortSignal
  readonly publish: Publish
}

/** Where a dataset goes: as given on the command line or by the pipeline; nowhere unless one of them asks for it. */
async function published(
  kind: 'tasks' | 'traces',
  result: GenerationResult,
  { name, targets, request, signal, publish }: Publishing,
): Promise<GenerationResult> {
  const isLast = request.stage !== 'both' || kind === 'traces'
  // A pipeline's fixture is for trying it out: it must not replace the real dataset.
  const usual = request.source.kind === 'real' ? targets[kind] : undefined
  const target = (isLast ? request.targetRepo : null) ?? usual ?? null
  if (!request.upload || target === null || (kind === 'traces' && request.trace.evalOnly)) return result
  const message = `${name}: ${kind}, seed ${request.seed}`
  try {
    return { ...result, uploadedRepo: await publish({ dir: result.datasetPath, kind, target, message, signal }) }
  } catch (error) {
    if (error instanceof UserError || isAbort(error)) throw error
    const said = messageOf(error)
    const where = said.startsWith(target) ? '' : `${target}: `
    const still = `${where}${said}; all results are still in ${result.datasetPath}`
    throw new BoundaryError('store', still, { code: 'UploadFailure', cause: error })
  }
}
