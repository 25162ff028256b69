import { jobRequestOf } from '../app/flags/job-request.ts'
import { type RunOptions, runOptions } from '../app/flags/run-options.ts'
import { loadEnvFile } from '../app/job/env-file.ts'
import { planJob, prepareJob } from '../app/job/prepare-job.ts'
import { note } from './output.ts'
import { checkOutputFile } from './run/output-file.ts'
import { runAskedJob } from './run/run-asked-job.ts'

/** `ot-agent run`: tasks times agents times attempts, in sandboxes, recorded. */
export default () => makeRun(process.argv.slice(3))

/** The command for the given words, which the job's lock will name. */
export const makeRun = (words: readonly string[]) =>
  runOptions()
    .description(
      'Runs tasks with an agent in sandboxes and keeps every trial in a job directory that Harbor can open.\n' +
        'After a crash or Ctrl-C, run the same command again to resume.',
    )
    .action((options) => runAction(options, ['ot-agent', 'run', ...words]))

async function runAction(options: RunOptions, invocation: readonly string[]): Promise<void> {
  const fromFile = options.envFile === undefined ? [] : await loadEnvFile(options.envFile)
  const asked = jobRequestOf(options)
  const request = { ...asked, passEnv: [...fromFile, ...(asked.passEnv ?? [])] }
  const planned = await planJob(request, note)
  const { config } = planned
  const { verbose = false, json = false, output } = options
  if (options.plan) return (await import('./run/print-plan.ts')).printPlanOf(planned, json)
  if (output !== undefined) await checkOutputFile(output)
  const { estimate } = options
  if (estimate !== undefined)
    return (await import('./run/estimate.ts')).printEstimateOf(planned, estimate === true ? null : estimate, json)
  const job = await prepareJob(planned, request, { notify: note, invocation })
  await runAskedJob(job, { quiet: config.quiet, json, verbose, ...(output !== undefined && { output }) })
}
