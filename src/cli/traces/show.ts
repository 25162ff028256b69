import { join, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { UserError } from '../../core/errors.ts'
import type { TrialFile } from '../../core/trace.ts'
import { limitOfFile } from '../../formats/traces/make-traces.ts'
import type { TraceStep, TraceTrajectory } from '../../formats/traces/trajectory.ts'
import { readMain } from '../../formats/traces/trial-trajectories.ts'
import { exists } from '../../lib/files.ts'
import { oneLine, visible } from '../../lib/visible.ts'
import { openForReading } from '../../store/trial-files.ts'
import { findJob } from '../jobs/find-job.ts'
import { renderStep } from './render-step.ts'

/** `ot-agent traces show`: what was said and done in one trial. */
export default () =>
  new Command()
    .description(
      'Prints the trajectory of a trial step by step. Signs that a terminal would obey are shown as escapes, never sent.',
    )
    .argument('<trial>', 'JOB/TRIAL: the job by its directory or its name among those of --jobs-dir')
    .option('-o, --jobs-dir <dir>', 'where a bare name of a job is looked up', 'jobs')
    .option('--step <n>', 'only this step, in full', wholeNumber(1))
    .option('--full', 'do not shorten long texts')
    .action(async (given, { jobsDir, step, full }) => {
      const files = await explainDisk(given, () => filesOf(given, jobsDir))
      const steps = stepsOf(files, given)
      const limit = full || step !== undefined ? Number.POSITIVE_INFINITY : shownChars
      if (step !== undefined && step > steps.length)
        throw new UserError(`--step: expected a number up to ${steps.length}, got ${step}`, 'without it all are shown')
      for (const [index, { title, said }] of steps.entries()) {
        if (step !== undefined && step !== index + 1) continue
        process.stdout.write(`${title}${renderStep(said, index + 1, limit)}\n\n`)
      }
    })

/** Every step of the trial; before the first one of a multi-step task's step stands a line that names it. */
function stepsOf(files: readonly TrialFile[], given: string): { readonly title: string; readonly said: TraceStep }[] {
  const folders = [...new Set(files.map((file) => file.step))]
  return (folders.length === 0 ? [null] : folders).flatMap((folder) => {
    const steps = chainOf(files, folder, given).flatMap((trajectory) => trajectory.steps)
    const title = folder === null ? '' : `== ${visible(oneLine(folder))}\n\n`
    return steps.map((said, index) => ({ title: index === 0 ? title : '', said }))
  })
}

/** Of a long text the beginning and the end are shown. */
const shownChars = 4000

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

/** A trial's directory may lie outside any job, as Harbor's single trials do. */
async function placeOf(jobPart: string, trial: string, jobsDir: string) {
  const isJob = await exists(join(jobPart, 'config.json'))
  if (!isJob && (await exists(join(jobPart, trial, 'result.json'))))
    return { dir: resolve(jobPart), layout: 'harbor' } as const
  return findJob(jobPart, jobsDir)
}
