import { join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrialFile } from '../../core/trace.ts'
import { limitOfFile } from '../../formats/traces/make-traces.ts'
import { renderToolCall } from '../../formats/traces/tool-call.ts'
import type { TraceStep, TraceTrajectory } from '../../formats/traces/trajectory.ts'
import { readMain } from '../../formats/traces/trial-trajectories.ts'
import { exists } from '../../lib/files.ts'
import { openForReading } from '../../store/trial-files.ts'
import { explainDisk } from '../disk-errors.ts'
import { findJob } from '../jobs/find-job.ts'

export type { TraceContent, TraceStep } from '../../formats/traces/trajectory.ts'

/** One step of a trial's trajectory. */
export interface TrialStep {
  /** The step's name where a step of a multi-step task begins, otherwise null. */
  readonly begins: string | null
  readonly said: TraceStep
  /** Its tool calls as text. */
  readonly calls: readonly string[]
}

/** Yields every step of a trial; `given` is JOB/TRIAL, with the job as a directory or a name in `jobsDir`. */
export async function trialSteps(given: string, jobsDir: string): Promise<readonly TrialStep[]> {
  const files = await explainDisk(given, () => filesOf(given, jobsDir))
  const folders = [...new Set(files.map((file) => file.step))]
  return (folders.length === 0 ? [null] : folders).flatMap((folder) => {
    const steps = chainOf(files, folder, given).flatMap((trajectory) => trajectory.steps)
    return steps.map((said, index) => ({ begins: index === 0 ? folder : null, said, calls: callsOf(said) }))
  })
}

function callsOf({ tool_calls: calls }: TraceStep): string[] {
  return (calls ?? []).map((call) => renderToolCall(call.function_name, call.arguments ?? {}))
}

function chainOf(files: readonly TrialFile[], step: string | null, given: string): readonly TraceTrajectory[] {
  const main = readMain(
    files.filter((file) => file.step === step && file.folder === 'agent'),
    'kept',
  )
  if ('good' in main) return main.good
  throw new UserError(
    `${given}${step === null ? '' : ` (step ${step})`}: expected a trajectory, but ${main.trouble.detail}`,
    'ot-agent jobs show --trial shows what is known about a trial',
  )
}

async function filesOf(given: string, jobsDir: string): Promise<TrialFile[]> {
  const [jobPart, trial] = splitLast(given.replace(/\/+$/, ''))
  if (jobPart === null)
    throw new UserError(
      `expected JOB/TRIAL, got ${JSON.stringify(given)}`,
      'ot-agent jobs show lists the trials of a job',
    )
  const { dir, layout } = await placeOf(jobPart, trial, jobsDir)
  const store = await openForReading(dir, layout)
  try {
    return await store.readFiles(trial, limitOfFile)
  } finally {
    await store.close()
  }
}

function splitLast(path: string): [before: string | null, last: string] {
  const at = path.lastIndexOf('/')
  return at < 0 ? [null, path] : [path.slice(0, at) || '/', path.slice(at + 1)]
}

/** A trial's directory may be outside any job, like Harbor's single trials. */
async function placeOf(jobPart: string, trial: string, jobsDir: string) {
  const isJob = await exists(join(jobPart, 'config.json'))
  if (!isJob && (await exists(join(jobPart, trial, 'result.json'))))
    return { dir: resolve(jobPart), layout: 'harbor' } as const
  return findJob(jobPart, jobsDir)
}
