import { Command } from '@commander-js/extra-typings'
import { restartInterrupted, withJudge } from '../../app/flags/model-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import { unlimitedUse } from '../../app/job/model-use.ts'
import { continuing, loadStoredJob } from '../../app/job/stored-job.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { hiddenValuesOf, withHiddenValues } from '../run/hidden-value-flags.ts'
import { runAskedJob } from '../run/run-asked-job.ts'

/** `ot-agent jobs resume`: finishes a job as its own files describe it. */
export default () =>
  withHiddenValues(
    withJudge(
      new Command()
        .description(
          'Finishes an interrupted job: runs trials that have no record or were cancelled, and keeps the others.',
        )
        .argument('<job>', 'a job directory, or the name of a job in --jobs-dir')
        .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
        .option(...restartInterrupted)
        .option('-n, --n-concurrent <n>', 'trials to run at the same time (default: as before)', wholeNumber(1))
        .option('-q, --quiet', 'do not print progress')
        .option('--json', 'print the result as JSON'),
    ),
  ).action(async (given, { jobsDir, nConcurrent, quiet = false, json = false, ...options }) => {
    const use = { ...unlimitedUse, judge: judgeSettingsOf(options) }
    const stored = await loadStoredJob(
      (await findJob(given, jobsDir)).dir,
      nConcurrent === undefined ? {} : { nConcurrentTrials: nConcurrent },
      hiddenValuesOf(options),
    )
    await runAskedJob(
      { ...(await continuing(stored)), use, restartInterrupted: options.restartInterrupted },
      { quiet, json },
    )
  })
