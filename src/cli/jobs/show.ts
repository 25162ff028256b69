import { Command } from '@commander-js/extra-typings'
import { findJob } from '../../app/jobs/find-job.ts'
import { reportJob } from '../../app/jobs/job-report.ts'
import { printJson } from '../output.ts'
import { printReport } from './show-job.ts'

/** `ot-agent jobs show`: shows a job trial by trial, or one trial of it. */
export default () =>
  new Command()
    .description(
      'Shows a job: the score of each group, over scored trials and over all trials, and how every trial ended.',
    )
    .argument('<job>', 'a job directory, or the name of a job in --jobs-dir')
    .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
    .option(
      '--trial <name>',
      'show only this trial (the start of its name is enough): why it ended, its turns, what the tests printed, and what to run next',
    )
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, trial, json }) => {
      const job = await findJob(given, jobsDir)
      if (trial !== undefined) {
        const { reportTrial } = await import('../../app/view/trial-report.ts')
        const { printTrial } = await import('./show-trial.ts')
        const report = await reportTrial(job, trial)
        return json ? printJson(report) : printTrial(report)
      }
      const report = await reportJob(job)
      return json ? printJson(report) : printReport(report)
    })
