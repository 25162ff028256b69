import { join, resolve } from 'node:path'
import type { TaskDraft } from '../../core/row.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { overlay } from '../../lib/overlay.ts'
import { sometimes } from '../../lib/sometimes.ts'
import { utcNow } from '../../lib/time.ts'
import { version } from '../../lib/version.ts'
import { makeProvider } from '../../plugins/make.ts'
import { makeStage } from '../../plugins/make-stage.ts'
import { asksModel } from '../../run/pipeline/pipeline.ts'
import type { GenerationContext, GenerationRequest, SourceChoice } from '../../run/pipeline/request.ts'
import { type GenerationOutcome, runGeneration } from '../../run/pipeline/run-generation.ts'
import { makeTasks, type Workshop } from '../../run/pipeline/task-stages.ts'
import type { MadeTasks } from '../../run/recipe/run-rows.ts'
import { openTaskSet, type TaskSet } from '../../store/task-set.ts'
import { explainDisk } from '../disk-errors.ts'
import { parsedAssignments } from '../job/assignments.ts'
import type { JobFollower } from '../job/perform-job.ts'
import type { BenchmarksAtHand } from './benchmarks-at-hand.ts'
import { extractTasks, packedTasksOf } from './from-parquet.ts'
import { type RefuseDraft, refuseUnjudgedTasks } from './lacks-judge.ts'
import type { LoadedPipeline } from './load-pipeline.ts'
import type { GenerateOptions } from './options.ts'
import { parseOwnOptions } from './own-options.ts'
import { makeProver } from './prove-tasks.ts'
import { checkTargetRepo, publishWith } from './publish.ts'
import { type GenerationSummary, summaryOf } from './summary.ts'
import { engineFileFor, openTaskModels, type TaskModels } from './task-model.ts'
import { runTraceJob } from './trace-job.ts'

/** How a caller follows a pipeline while it runs. */
export interface GenerationFollower extends JobFollower {
  /** Shows the stages; without it they are reported as lines. */
  readonly stages?: StageWatch | undefined
}

interface StageWatch {
  start(stage: {
    readonly title: string
    readonly index: number
    readonly of: number
    readonly total: number | null
  }): void
  advance(done: number): void
  end(rows: number, cached: boolean): void
}

/** Runs a pipeline: request, model, sandboxes, stages, summary. */
export async function performGeneration(
  loaded: LoadedPipeline,
  options: GenerateOptions,
  follower: GenerationFollower,
): Promise<{ readonly summary: GenerationSummary; readonly request: GenerationRequest }> {
  const { signal, notify } = follower
  const packed = packedTasksOf(options)
  const asked = requestOf(loaded, options)
  let request = asked
  const { pipeline } = loaded
  const refuse = await refuseUnjudgedTasks(loaded, request, options)
  if (request.upload) await checkTargetRepo(request.targetRepo, signal)
  const startedAt = utcNow()
  const benchmarks =
    options.decontaminate && request.stage !== 'traces'
      ? await (await import('./benchmarks-at-hand.ts')).loadBenchmarksAtHand(options.quiet ? () => {} : notify)
      : null
  const set = await explainDisk(request.outputDir, () => openSet(loaded, request, options, benchmarks))
  let models: TaskModels | null = null
  let outcome: GenerationOutcome = { tasks: null, traces: null }
  try {
    if (packed)
      request = await extractTasks(packed, asked, {
        overwrite: options.overwrite ?? false,
        workDir: set.workDir,
        notify,
        signal,
      })
    const served = await withEndpoint(options, set.workDir)
    const needsModel = request.stage !== 'traces' && asksModel(pipeline, request.options)
    models = await openTaskModels({ name: pipeline.name, needsModel }, served, {
      workDir: set.workDir,
      notify,
      signal,
    })
    const context = await contextFor(loaded, request, served, { set, models, refuse, benchmarks, follower })
    outcome = await explainDisk(request.outputDir, () => runGeneration(loaded, request, context, publishWith(notify)))
  } catch (error) {
    await set.close({ ...summaryOf(loaded, request, outcome, startedAt), status: 'failed' }).catch(() => {})
    throw error
  } finally {
    await models?.close()
  }
  const summary = summaryOf(loaded, request, outcome, startedAt)
  await set.close(summary)
  return { summary, request }
}

/** The request for a pipeline, with all defaults filled in. */
export function requestOf({ pipeline, hooks, dir }: LoadedPipeline, options: GenerateOptions): GenerationRequest {
  const { traces = {} } = pipeline
  const gb = (value: number | undefined) => (value === undefined ? null : value * 1024)
  return {
    stage: options.stage,
    source: sourceOf(options.source),
    limit: options.limit ?? null,
    seed: options.seed,
    pipelineDir: dir,
    inputDir: options.inputDir ?? hooks?.defaults.inputDir ?? null,
    outputDir: resolve(options.outputDir ?? join('generated', pipeline.name)),
    tasksInput: options.tasksInput ?? null,
    targetRepo: options.targetRepo ?? null,
    upload: options.upload,
    check: options.check,
    sandbox: {
      cpus: options.sandboxCpu ?? null,
      memoryMb: gb(options.sandboxMemoryGb),
      storageMb: gb(options.sandboxDiskGb),
      gpus: options.sandboxGpu ?? null,
    },
    model: options.model?.[0] ?? null,
    trace: {
      agent: options.traceAgentName ?? traces.agent ?? 'terminus-2',
      model: options.traceModel ?? options.model?.[0] ?? traces.model ?? null,
      nConcurrent: options.traceNConcurrent ?? traces.nConcurrent ?? 8,
      episodes: options.traceEpisodes ?? traces.episodes ?? 'last',
      filter: options.traceExportFilter ?? traces.filter ?? 'none',
      subagents: options.traceSkipSubagents ? false : (options.traceExportSubagents ?? traces.subagents ?? true),
      evalOnly: options.traceEvalOnly ?? traces.evalOnly ?? false,
    },
    options: parseOwnOptions(pipeline.options, options),
    metadata: {},
  }
}

function sourceOf(text: string): SourceChoice {
  return text === 'fixture' || text === 'real' ? { kind: text } : { kind: 'file', path: resolve(text) }
}

function openSet(
  { pipeline, digest }: LoadedPipeline,
  request: GenerationRequest,
  options: GenerateOptions,
  benchmarks: BenchmarksAtHand | null,
): Promise<TaskSet> {
  const { seed, source, check, sandbox, model, stage } = request
  const identity = { pipeline: pipeline.name, code: digest, program: version(), options: request.options }
  // A folder of traces alone contains nothing that could get mixed up with other tasks.
  const packed = packedTasksOf(options)
  const made = stage === 'traces' ? { ...(packed && { packed }) } : { source, seed, check, sandbox, model }
  const compared = benchmarks && { benchmarks: benchmarks.digest }
  return openTaskSet(request.outputDir, { ...identity, ...made, ...compared }, options.overwrite ?? false)
}

/** A running server's endpoint file is another way to say where the model is. */
async function withEndpoint(options: GenerateOptions, workDir: string): Promise<GenerateOptions> {
  if (options.endpointJson === undefined) return options
  return { ...options, engineConfig: await engineFileFor(resolve(options.endpointJson), workDir) }
}

interface GenerationParts {
  readonly set: TaskSet
  readonly models: TaskModels
  readonly refuse: RefuseDraft
  readonly benchmarks: BenchmarksAtHand | null
  readonly follower: GenerationFollower
}

async function contextFor(
  loaded: LoadedPipeline,
  request: GenerationRequest,
  options: GenerateOptions,
  { set, models, refuse, benchmarks, follower }: GenerationParts,
): Promise<GenerationContext> {
  const { signal, notify, stages } = follower
  const sandboxOptions = parsedAssignments('--ek', options.environmentKwarg ?? [])
  const provider = await makeProvider(options.environment, sandboxOptions)
  const checks = request.check && request.stage !== 'traces'
  if (checks) await provider.preflight()
  const workDir = join(set.scratchDir, 'checks')
  const { client: model, judge } = models
  const spine = checks
    ? await makeProver({
        provider,
        sandboxOptions,
        repeats: options.checkRepeats,
        passEnv: options.passEnv,
        workDir,
        signal,
        judge,
      })
    : null
  const tick = sometimes(notify)
  const shop: Workshop = {
    set,
    seed: request.seed,
    limit: request.limit,
    version: digestJson([
      ...[loaded.digest, version(), request.options, request.sandbox, request.model, request.check],
      ...(benchmarks ? [benchmarks.digest] : []),
    ]),
    finish: (draft) => {
      refuse(draft)
      return withSandbox(draft, request.sandbox)
    },
    benchmarkOf: benchmarks?.benchmarkOf,
    prove: spine,
    signal,
    onProgress: (counts) => {
      stages?.advance(request.limit === null ? counts.rows : counts.tasks)
      if (!stages && !options.quiet) tick(progressLine(counts))
    },
  }
  const usual = checks || model !== null ? 4 : 16
  const width = Math.min(options.nConcurrent ?? usual, request.limit ?? Number.POSITIVE_INFINITY)
  const context: GenerationContext = {
    signal,
    workDir: join(set.workDir, 'cache'),
    model,
    sandboxes: provider,
    log: (line) => options.quiet || notify(line),
    makeStage,
    makeTasks: (work) => makeTasks({ width, ...work }, shop),
    runTraces: (tasksDir, asked) => runTraceJob(tasksDir, asked, options, follower),
  }
  return stages ? staged(context, request, stages) : context
}

/** Reports when the two stages of a pipeline begin and end. */
function staged(
  context: GenerationContext,
  { stage, limit }: GenerationRequest,
  stages: StageWatch,
): GenerationContext {
  const of = stage === 'both' ? 2 : 1
  return {
    ...context,
    async makeTasks(work) {
      stages.start({ title: 'tasks', index: 1, of, total: limit })
      const made = await context.makeTasks(work)
      stages.end(made.tasks, made.rows > 0 && made.resumed === made.rows)
      return made
    },
    async runTraces(tasksDir, asked) {
      stages.start({ title: 'traces', index: of, of, total: null })
      const made = await context.runTraces(tasksDir, asked)
      stages.end(Number(Object(made.metadata.exported).rows ?? made.metadata.trials), false)
      return made
    },
  }
}

function withSandbox(draft: TaskDraft, { cpus, memoryMb, storageMb, gpus }: GenerationRequest['sandbox']): TaskDraft {
  if ([cpus, memoryMb, storageMb, gpus].every((each) => each === null)) return draft
  const environment = {
    ...(cpus !== null && { cpus }),
    ...(memoryMb !== null && { memory_mb: memoryMb }),
    ...(storageMb !== null && { storage_mb: storageMb }),
    ...(gpus !== null && { gpus }),
  }
  return { ...draft, config: overlay(draft.config ?? {}, { environment }) }
}

function progressLine({ rows, resumed, tasks, rejects }: MadeTasks): string {
  const left = Object.values(rejects).reduce((sum, count) => sum + count, 0)
  const again = resumed > 0 ? `, ${resumed} of them done before` : ''
  return `${rows} rows${again}: ${tasks} tasks, ${left} skipped`
}
