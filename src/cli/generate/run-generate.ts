import { join, resolve } from 'node:path'
import type { TaskDraft } from '../../core/row.ts'
import { Arguments, parseArguments } from '../../generation/arguments.ts'
import { overlay } from '../../generation/declared-generator.ts'
import { type MadeTasks, makeTasks, type Workshop } from '../../generation/make-tasks.ts'
import type { GenerationContext, GenerationRequest, SourceChoice } from '../../generation/request.ts'
import { type GenerationOutcome, runGenerator } from '../../generation/run-generator.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { utcNow } from '../../lib/time.ts'
import { makeProvider } from '../../plugins/make.ts'
import { makeStage } from '../../plugins/make-stage.ts'
import { openTaskSet, type TaskSet } from '../../store/task-set.ts'
import { explainDisk } from '../disk-errors.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { parsedAssignments } from '../run/values.ts'
import { makeTicker } from '../ticker.ts'
import { version } from '../version.ts'
import { extractTasks, packedTasksOf } from './from-parquet.ts'
import { makeJudge } from './judge.ts'
import { type RefuseDraft, refuseUnjudgedTasks } from './lacks-judge.ts'
import { hasRealSource, type LoadedGenerator } from './load-generator.ts'
import type { GenerateOptions } from './options.ts'
import { tellPlan } from './plan.ts'
import { checkTargetRepo, publish } from './publish.ts'
import { type GenerationSummary, reportGeneration, summaryOf } from './report.ts'
import { engineFileFor, openTaskModels, type TaskModels } from './task-model.ts'
import { runTraceJob } from './trace-job.ts'

/** Runs a pipeline as the command line asks: request, model, sandboxes, stages, summary, exit code. */
export async function runGenerate(loaded: LoadedGenerator, asked: GenerateOptions): Promise<void> {
  const { generator } = loaded
  // Packed tasks are made already: what is left is to run agents over them.
  const options = asked.fromParquet === undefined ? asked : { ...asked, stage: 'traces' as const }
  if (options.source === 'fixture' && options.stage !== 'traces' && hasRealSource(generator))
    note(`rows come from the fixture of ${generator.name}, a few made up to try it out; --source real uses its source`)
  const interrupt = interruptSignal()
  try {
    if (options.dryRun) {
      const request = requestOf(loaded, options)
      await refuseUnjudgedTasks(loaded, request, options)
      return await tellPlan(request, options, interrupt.signal)
    }
    const { summary, request } = await performGeneration(loaded, options, interrupt.signal)
    reportGeneration(summary, request, options.json ?? false)
  } finally {
    interrupt.stop()
  }
}

/** Runs a pipeline and leaves what to say of it to the caller. */
export async function performGeneration(
  loaded: LoadedGenerator,
  options: GenerateOptions,
  signal: AbortSignal,
): Promise<{ readonly summary: GenerationSummary; readonly request: GenerationRequest }> {
  const packed = packedTasksOf(options)
  const asked = requestOf(loaded, options)
  let request = asked
  const { generator } = loaded
  const refuse = await refuseUnjudgedTasks(loaded, request, options)
  if (request.upload) await checkTargetRepo(request.targetRepo, signal)
  const startedAt = utcNow()
  const set = await explainDisk(request.outputDir, () => openSet(loaded, request, options))
  let models: TaskModels | null = null
  let outcome: GenerationOutcome = { tasks: null, traces: null }
  try {
    if (packed) request = await extractTasks(packed, asked, options.overwrite ?? false, set.workDir, signal)
    const served = await withEndpoint(options, set.workDir)
    const needsModel = request.stage !== 'traces' && generator.requiresEngineForStage('tasks', request.options)
    models = await openTaskModels({ name: generator.name, needsModel }, served, set.workDir, signal)
    const context = await contextFor(loaded, request, served, { set, models, refuse }, signal)
    outcome = await explainDisk(request.outputDir, () => runGenerator(generator, request, context, publish))
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

/** What the options ask of a pipeline, every default filled in. */
export function requestOf({ generator, dir }: LoadedGenerator, options: GenerateOptions): GenerationRequest {
  const args = new Arguments()
  generator.addArguments(args)
  const { defaults } = generator
  const gb = (value: number | undefined) => (value === undefined ? null : value * 1024)
  return {
    stage: options.stage,
    source: sourceOf(options.source),
    limit: options.limit ?? null,
    seed: options.seed,
    pipelineDir: dir,
    inputDir: options.inputDir ?? defaults.inputDir ?? null,
    outputDir: resolve(options.outputDir ?? join('generated', generator.name)),
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
      agent: options.traceAgentName ?? defaults.trace?.agent ?? 'terminus-2',
      model: options.traceModel ?? options.model?.[0] ?? defaults.trace?.model ?? null,
      nConcurrent: options.traceNConcurrent ?? defaults.trace?.nConcurrent ?? 8,
      episodes: options.traceEpisodes ?? defaults.trace?.episodes ?? 'last',
      filter: options.traceExportFilter ?? defaults.trace?.filter ?? 'none',
      subagents: options.traceSkipSubagents
        ? false
        : (options.traceExportSubagents ?? defaults.trace?.subagents ?? true),
      evalOnly: options.traceEvalOnly ?? defaults.trace?.evalOnly ?? false,
    },
    options: parseArguments(args.list(), options),
    metadata: {},
  }
}

function sourceOf(text: string): SourceChoice {
  return text === 'fixture' || text === 'real' ? { kind: text } : { kind: 'file', path: resolve(text) }
}

function openSet(
  { generator, digest }: LoadedGenerator,
  request: GenerationRequest,
  options: GenerateOptions,
): Promise<TaskSet> {
  const { seed, source, check, sandbox, model, stage } = request
  const identity = { pipeline: generator.name, code: digest, program: version(), options: request.options }
  // A folder of traces alone has nothing that could be mixed with other tasks.
  const packed = packedTasksOf(options)
  const made = stage === 'traces' ? { ...(packed && { packed }) } : { source, seed, check, sandbox, model }
  return openTaskSet(request.outputDir, { ...identity, ...made }, options.overwrite ?? false)
}

/** A running server's file is one more way to say where the model is. */
async function withEndpoint(options: GenerateOptions, workDir: string): Promise<GenerateOptions> {
  if (options.endpointJson === undefined) return options
  return { ...options, engineConfig: await engineFileFor(resolve(options.endpointJson), workDir) }
}

async function contextFor(
  loaded: LoadedGenerator,
  request: GenerationRequest,
  options: GenerateOptions,
  { set, models, refuse }: { readonly set: TaskSet; readonly models: TaskModels; readonly refuse: RefuseDraft },
  signal: AbortSignal,
): Promise<GenerationContext> {
  const sandboxOptions = parsedAssignments('--ek', options.environmentKwarg ?? [])
  const provider = await makeProvider(options.environment, sandboxOptions)
  const checks = request.check && request.stage !== 'traces'
  if (checks) await provider.preflight()
  const workDir = join(set.scratchDir, 'checks')
  const { client: model, judge } = models
  const spine = checks
    ? await makeJudge({
        provider,
        sandboxOptions,
        repeats: options.checkRepeats,
        passEnv: options.passEnv,
        workDir,
        signal,
        judge,
      })
    : null
  const tick = makeTicker()
  const shop: Workshop = {
    set,
    seed: request.seed,
    limit: request.limit,
    version: digestJson([loaded.digest, version(), request.options, request.sandbox, request.model, request.check]),
    finish: (draft) => {
      refuse(draft)
      return withSandbox(draft, request.sandbox)
    },
    judge: spine,
    signal,
    onProgress: (counts) => options.quiet || tick(progressLine(counts)),
  }
  const usual = checks || model !== null ? 4 : 16
  const width = Math.min(options.nConcurrent ?? usual, request.limit ?? Number.POSITIVE_INFINITY)
  return {
    signal,
    workDir: join(set.workDir, 'cache'),
    model,
    sandboxes: provider,
    log: (line) => options.quiet || note(line),
    makeStage,
    makeTasks: (work) => makeTasks({ width, ...work }, shop),
    runTraces: (tasksDir, asked) => runTraceJob(tasksDir, asked, options, signal),
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
  return `${rows} rows${again}: ${tasks} tasks, ${left} left out`
}
