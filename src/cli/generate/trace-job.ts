import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import type { TraceOptions } from '../../formats/traces/make-traces.ts'
import { InputValidationError, TraceFailure } from '../../generation/errors.ts'
import type { GenerationRequest, GenerationResult } from '../../generation/request.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { pluginContext } from '../../plugins/make.ts'
import { fingerprintsIn } from '../../run/job/fingerprint.ts'
import { openJob } from '../../run/job/open-job.ts'
import type { JobOutcome } from '../../run/job.ts'
import { exportTraces } from '../../run/traces/export-traces.ts'
import { findInputs } from '../../run/traces/find-inputs.ts'
import { explainDisk } from '../disk-errors.ts'
import { importDigests } from '../run/configured.ts'
import { askedJob } from '../run/job-document.ts'
import { checkJobsDir } from '../run/jobs-dir.ts'
import { modelUseOf } from '../run/model-options.ts'
import { type RunOptions, runOptions } from '../run/options.ts'
import { resolveTasks } from '../run/resolve-tasks.ts'
import { performJob } from '../run/run-asked-job.ts'
import { withTaskOptions } from '../run/task-options.ts'
import { DatasetFiles } from '../traces/dataset-files.ts'
import { traceMaker } from '../traces/export.ts'
import { version } from '../version.ts'
import type { GenerateOptions } from './options.ts'

/** Runs agents over a folder of tasks, going on where an earlier run stopped, and exports what they did. */
export async function runTraceJob(
  tasksDir: string,
  request: GenerationRequest,
  options: GenerateOptions,
  signal: AbortSignal,
): Promise<GenerationResult> {
  const outcome = await runJobOver(resolve(tasksDir), request, options, signal)
  if (outcome === null) return nothingToDo(request)
  const { job, liveStats } = outcome
  const ends = liveStats.denominators()
  const scores = { trials: ends.trials, scored: ends.scored, failed: ends.failed, meanReward: ends.meanOverScored }
  const status = ends.failed === 0 ? 'success' : ends.failed < ends.trials ? 'partial' : 'failed'
  const artifacts = { job: job.dir }
  if (request.trace.evalOnly)
    return { datasetPath: job.dir, status, uploadedRepo: null, artifacts, metadata: { ...scores, exported: null } }
  const out = join(request.outputDir, 'traces')
  const exported = await exportJob(job.dir, out, request, signal)
  if (exported.rows === 0)
    throw new TraceFailure(
      `expected traces of ${exported.trials} trials, got none (${shownDrops(exported.drops)}); the trials are in ${job.dir}`,
    )
  const type = options.traceDatasetType ?? 'SFT'
  return {
    datasetPath: out,
    status,
    uploadedRepo: null,
    artifacts,
    metadata: { ...scores, exported, datasetType: type },
  }
}

async function runJobOver(
  tasksDir: string,
  request: GenerationRequest,
  options: GenerateOptions,
  signal: AbortSignal,
): Promise<JobOutcome | null> {
  const asked = jobOptions(tasksDir, request, options)
  const { config: written, named, adaptive } = await askedJob(asked, 'local')
  const config = await withTaskOptions(written, asked)
  const tasks = shareOf(await resolveTasks(config), options.traceShare)
  if (tasks.length === 0) return null
  await checkJobsDir(config.jobsDir)
  const imports = await importDigests(config)
  const invocation = ['ot-agent', 'generate', ...process.argv.slice(3)]
  const fingerprint = fingerprintsIn(pluginContext().stateDir)
  // Killed between its last trial and the end of its export, a job is exported by the next run, not run again.
  const open = () =>
    openJob({ config, fingerprint, named, tasks, imports, layout: 'harbor', invocation, takesFinished: true })
  const showing = { quiet: options.quiet ?? false, json: false }
  const { passEnv, restartInterrupted } = options
  const consent = { passEnv }
  const use = modelUseOf(options, adaptive)
  const outcome = await performJob({ config, tasks, consent, use, open, restartInterrupted }, showing, signal)
  signal.throwIfAborted()
  return outcome
}

/** Of few tasks and many processes, some get none. */
function nothingToDo({ outputDir }: GenerationRequest): GenerationResult {
  const metadata = { trials: 0, scored: 0, failed: 0, meanReward: null, exported: null }
  return { datasetPath: outputDir, status: 'success', uploadedRepo: null, artifacts: {}, metadata }
}

/** Tasks are in a fixed order, so that every process finds the same share for itself. */
function shareOf<T>(tasks: readonly T[], share: GenerateOptions['traceShare']): readonly T[] {
  return share === undefined ? tasks : tasks.filter((_, i) => i % share.of === share.index)
}

/** The same job as a command line of `ot-agent run`, so that there is one way to say what a job is. */
export function jobOptions(tasksDir: string, request: GenerationRequest, options: GenerateOptions): RunOptions {
  const { trace, limit } = request
  const model = options.traceModel ?? options.model?.[0] ?? trace.model
  const hasFile = options.traceHarborConfig !== undefined
  const agent = options.traceAgentName ?? (hasFile ? undefined : trace.agent)
  const concurrent = options.traceNConcurrent ?? (hasFile ? undefined : trace.nConcurrent)
  const file = options.engineConfig
  const words: (readonly [flag: string, value: string | number | null | undefined])[] = [
    ['--path', tasksDir],
    ['--config', options.traceHarborConfig],
    ['--n-tasks', limit],
    ['--agent', agent],
    ['--model', model],
    ['--api-base', options.apiBase],
    ['--engine', options.engine],
    ['--engine-config', file === undefined ? undefined : resolve(file)],
    ['--api-key-env', options.apiKeyEnv],
    [
      '--environment',
      options.traceEnv ?? (hasFile && options.environment === 'local' ? undefined : options.environment),
    ],
    ['--jobs-dir', resolve(options.traceJobsDir ?? join(request.outputDir, 'jobs'))],
    ['--n-concurrent', concurrent],
    ['--n-attempts', options.traceNAttempts],
    ['--override-cpus', request.sandbox.cpus],
    ['--override-memory-mb', request.sandbox.memoryMb],
    ['--override-storage-mb', request.sandbox.storageMb],
    ['--override-gpus', request.sandbox.gpus],
    ...(options.engineKwarg ?? []).map((text) => ['--engine-kwarg', text] as const),
    ...(options.environmentKwarg ?? []).map((text) => ['--environment-kwarg', text] as const),
    ...agentKwargs(options.traceAgentKwargs).map((text) => ['--agent-kwarg', text] as const),
    ...timeLimit('agents[0].override_timeout_sec', options.traceAgentTimeoutSec),
    ...timeLimit('verifier.override_timeout_sec', options.traceVerifierTimeoutSec),
  ]
  const given = words.filter(([, value]) => value !== undefined && value !== null)
  const argv = given.map(([flag, value]) => `${flag}=${value}`)
  if (options.disableVerification) argv.push('--disable-verification')
  if (options.agentMayModifySystem) argv.push('--agent-may-modify-system')
  return runOptions().exitOverride().parse(argv, { from: 'user' }).opts()
}

function timeLimit(key: string, seconds: number | undefined): (readonly [string, string])[] {
  return seconds === undefined ? [] : [['--set', `${key}=${seconds}`]]
}

function agentKwargs(text: string | undefined): string[] {
  if (text === undefined) return []
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(text))
  if (parsed.success) return Object.entries(parsed.data).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  throw new InputValidationError(
    `--trace-agent-kwargs: expected a JSON object, got ${JSON.stringify(text.slice(0, 80))}`,
    `for example '{"max_turns": 20}'`,
  )
}

async function exportJob(jobDir: string, out: string, request: GenerationRequest, signal: AbortSignal) {
  const { episodes, filter, subagents } = request.trace
  const options: TraceOptions = {
    form: 'exact',
    reasoning: 'column',
    episodes,
    filter: filter === 'none' ? 'all' : filter,
    subagents: subagents ? 'separate' : 'drop',
    turns: 'alternate',
    sharegpt: false,
  }
  const name = basename(resolve(request.outputDir))
  const files = new DatasetFiles({
    name,
    formats: ['parquet'],
    options,
    shardRows: null,
    madeBy: `ot-agent ${version()}`,
  })
  const { counts } = await explainDisk(out, async () =>
    exportTraces({
      found: await findInputs([jobDir], false),
      out,
      overwrite: true,
      maker: files.noting(traceMaker(options)),
      openSink: (dir) => files.open(dir),
      describe: (counted, written) => files.describe(counted, written),
      signal,
    }),
  )
  return { trials: counts.trials, exported: counts.exported, rows: counts.rows, drops: counts.drops }
}

function shownDrops(drops: Readonly<Record<string, number>>): string {
  const shown = Object.entries(drops).map(([reason, count]) => `${reason} ${count}`)
  return shown.join(', ') || 'nothing says why'
}
