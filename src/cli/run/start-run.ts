import { jobRequestOf, loadEnvFile } from '../../app/flags/job-request.ts'
import type { RunOptions } from '../../app/flags/run-options.ts'
import { configTextOf, planJob, prepareJob } from '../../app/job/prepare-job.ts'
import { visibleJson } from '../../lib/visible.ts'
import { note } from '../output.ts'
import { checkOutputFile } from './output-file.ts'
import { runAskedJob } from './run-asked-job.ts'

/**
 * Does what the options of `ot-agent run` request. `invocation` is the command line, which is recorded in the job's
 * lock.
 */
export async function startRun(options: RunOptions, invocation: readonly string[]): Promise<void> {
  const fromFile = options.envFile === undefined ? [] : await loadEnvFile(options.envFile)
  const asked = jobRequestOf(options)
  const request = { ...asked, passEnv: [...fromFile, ...(asked.passEnv ?? [])] }
  const planned = await planJob(request, note)
  const { verbose = false, json = false, output } = options
  if (options.printConfig) return void process.stdout.write(`${visibleJson(configTextOf(planned)).trimEnd()}\n`)
  if (options.plan) return (await import('./print-plan.ts')).printPlanOf(planned, json)
  if (output !== undefined) await checkOutputFile(output)
  const { estimate } = options
  if (estimate !== undefined)
    return (await import('./estimate.ts')).printEstimateOf(planned, estimate === true ? null : estimate, json)
  const job = await prepareJob(planned, request, { notify: note, invocation })
  await runAskedJob(job, { quiet: planned.config.quiet, json, verbose, ...(output !== undefined && { output }) })
}
