import { Command } from '@commander-js/extra-typings'
import { restartInterrupted, withJudge } from '../../app/flags/model-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import { unlimitedUse } from '../../app/job/model-use.ts'
import { continuing, loadStoredJob } from '../../app/job/stored-job.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { UserError } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { exceptionOf } from '../../core/trial-exception.ts'
import { hiddenValuesOf, withHiddenValues } from '../run/hidden-value-flags.ts'
import { runAskedJob } from '../run/run-asked-job.ts'

/** Boundaries whose failures say nothing about the task, agent or tests. */
const infrastructure: readonly string[] = ['sandbox', 'model', 'store', 'scheduler']

/** `ot-agent jobs retry`: discards failed trials and runs them again. */
export default () =>
  withHiddenValues(
    withJudge(
      new Command()
        .description(
          'Runs the failed trials of a job again, and any that have not run yet. What the failed attempts left is kept in the ' +
            'trial directories.',
        )
        .argument('<job>', 'a job directory, or the name of a job in --jobs-dir')
        .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
        .requiredOption(
          '--only <which>',
          'infra (sandbox, model or store failed), failed (anything failed), cancelled, or the code of a failure, for example VerifierTimeoutError',
        )
        .option(...restartInterrupted)
        .option('-n, --n-concurrent <n>', 'trials to run at the same time (default: as before)', wholeNumber(1))
        .option('-q, --quiet', 'do not print progress')
        .option('--json', 'print the result as JSON'),
    ),
  ).action(async (given, { jobsDir, only, nConcurrent, quiet = false, json = false, ...options }) => {
    checkOnly(only)
    const use = { ...unlimitedUse, judge: judgeSettingsOf(options) }
    const stored = await loadStoredJob(
      (await findJob(given, jobsDir)).dir,
      nConcurrent === undefined ? {} : { nConcurrentTrials: nConcurrent },
      hiddenValuesOf(options),
    )
    const again = (record: TrialRecord) => isMeant(record, only)
    await runAskedJob(
      { ...(await continuing(stored)), use, again, restartInterrupted: options.restartInterrupted },
      { quiet, json },
    )
  })

/** Error codes are class names; any other word must be one of our boundaries. */
function checkOnly(only: string): void {
  if (['infra', 'failed', 'cancelled'].includes(only) || /^[A-Z]\w+$/.test(only)) return
  throw new UserError(
    `--only: expected infra, failed, cancelled or the code of a failure, got ${JSON.stringify(only)}`,
    'jobs show prints the code of each failure, for example VerifierTimeoutError',
  )
}

function isMeant(record: TrialRecord, only: string): boolean {
  const { end } = record
  if (only === 'cancelled') return end.kind === 'cancelled'
  if (only === 'failed') return end.kind === 'failed'
  if (only === 'infra') return end.kind === 'failed' && infrastructure.includes(end.failure.boundary)
  return exceptionOf(record)?.type === only
}
