import { basename, join, resolve } from 'node:path'
import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { parseJson } from '../../lib/parse-json.ts'
import type { JobOutcome } from '../../run/job.ts'
import type { GenerationRequest, GenerationResult } from '../../run/pipeline/request.ts'
import { exportTraces } from '../export-traces.ts'
import { parsedAssignments } from '../job/assignments.ts'
import { modelRequestOf } from '../job/model-flags.ts'
import { type JobFollower, performJob } from '../job/perform-job.ts'
import { planJob, prepareJob } from '../job/prepare-job.ts'
import type { TasksRequest } from '../job/tasks-request.ts'
import type { GenerateOptions } from './options.ts'

/** Runs agents on a folder of tasks, resuming an earlier run, and exports their traces. */
export async function runTraceJob(
  tasksDir: string,
  request: GenerationRequest,
  options: GenerateOptions,
  follower: JobFollower,
): Promise<GenerationResult> {
  const outcome = await runJobOver(resolve(tasksDir), request, options, follower)
  if (outcome === null) return nothingToDo(request)
  const { job, liveStats } = outcome
  const ends = liveStats.denominators()
  const scores = { trials: ends.trials, scored: ends.scored, failed: ends.failed, meanReward: ends.meanOverScored }
  const status = ends.failed === 0 ? 'success' : ends.failed < ends.trials ? 'partial' : 'failed'
  const artifacts = { job: job.dir }
  if (request.trace.evalOnly)
    return { datasetPath: job.dir, status, uploadedRepo: null, artifacts, metadata: { ...scores, exported: null } }
  const out = join(request.outputDir, 'traces')
  const exported = await exportJob(job.dir, out, request, follower.signal)
  if (exported.rows === 0)
    throw new BoundaryError(
      'agent',
      `expected traces of ${exported.trials} trials, got none (${shownDrops(exported.drops)}); the trials are in ${job.dir}`,
      { code: 'TraceFailure' },
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
  generation: GenerationRequest,
  options: GenerateOptions,
  follower: JobFollower,
): Promise<JobOutcome | null> {
  const { notify, signal } = follower
  const request = traceRequestOf(tasksDir, generation, options)
  const planned = await planJob(request, notify)
  if (planned.tasks.length === 0) return null
  const invocation = ['ot-agent', 'generate', ...process.argv.slice(3)]
  const job = await prepareJob(planned, request, { notify, invocation })
  const outcome = await performJob(job, follower)
  signal.throwIfAborted()
  return outcome
}

/** With fewer tasks than processes, some get none. */
function nothingToDo({ outputDir }: GenerationRequest): GenerationResult {
  const metadata = { trials: 0, scored: 0, failed: 0, meanReward: null, exported: null }
  return { datasetPath: outputDir, status: 'success', uploadedRepo: null, artifacts: {}, metadata }
}

/** The job that runs agents over the tasks of a generation. */
function traceRequestOf(
  tasksDir: string,
  { trace, limit, sandbox, outputDir }: GenerationRequest,
  options: GenerateOptions,
): TasksRequest {
  const hasFile = options.traceHarborConfig !== undefined
  const model = options.traceModel ?? options.model?.[0] ?? trace.model
  const named = modelRequestOf({ ...options, model: model === null ? [] : [model] })
  return {
    ...named,
    tasks: tasksDir,
    limit: limit ?? undefined,
    share: options.traceShare,
    jobFile: options.traceHarborConfig,
    engineConfig: options.engineConfig === undefined ? undefined : resolve(options.engineConfig),
    agent: options.traceAgentName ?? (hasFile ? undefined : trace.agent),
    agentOptions: agentOptions(options.traceAgentKwargs),
    agentTimeoutSec: options.traceAgentTimeoutSec,
    sandbox: options.traceEnv ?? (hasFile && options.environment === 'local' ? undefined : options.environment),
    sandboxOptions: parsedAssignments('--ek', options.environmentKwarg ?? []),
    resources: {
      cpus: sandbox.cpus ?? undefined,
      memoryMb: sandbox.memoryMb ?? undefined,
      storageMb: sandbox.storageMb ?? undefined,
      gpus: sandbox.gpus ?? undefined,
    },
    verifier: {
      disable: options.disableVerification,
      timeoutSec: options.traceVerifierTimeoutSec,
      agentMayModifySystem: options.agentMayModifySystem,
    },
    jobsDir: resolve(options.traceJobsDir ?? join(outputDir, 'jobs')),
    concurrency: options.traceNConcurrent ?? (hasFile ? undefined : trace.nConcurrent),
    attempts: options.traceNAttempts,
    layout: options.traceStore ?? 'harbor',
    // A job killed between its last trial and the end of its export is exported by the next run, not run again.
    resumeFinished: true,
    passEnv: options.passEnv,
    restartInterrupted: options.restartInterrupted,
  }
}

function agentOptions(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {}
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new UserError(
    `--trace-agent-kwargs: expected a JSON object, got ${JSON.stringify(text.slice(0, 80))}`,
    `for example '{"max_turns": 20}'`,
  )
}

async function exportJob(jobDir: string, out: string, { trace, outputDir }: GenerationRequest, signal: AbortSignal) {
  const { episodes, filter, subagents } = trace
  const { trials, exported, rows, drops } = await exportTraces(
    {
      ...{ from: jobDir, out, name: basename(resolve(outputDir)), overwrite: true, episodes },
      filter: filter === 'none' ? 'all' : filter,
      subagents: subagents ? 'separate' : 'drop',
    },
    { signal },
  )
  return { trials, exported, rows, drops }
}

function shownDrops(drops: Readonly<Record<string, number>>): string {
  const shown = Object.entries(drops).map(([reason, count]) => `${reason} ${count}`)
  return shown.join(', ') || 'no reason recorded'
}
