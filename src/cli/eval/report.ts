import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { scoreJob } from '../../app/eval/score-job.ts'
import { writeAtomic } from '../../lib/files.ts'
import { findJob } from '../jobs/find-job.ts'
import { printJson } from '../output.ts'
import { renderScore } from './render-score.ts'

/** `ot-agent eval report`: the score of a job, with its interval. */
export default () =>
  new Command()
    .description(
      'Scores a job: the mean reward over tasks with a 95 % interval from the spread between tasks, pass@k, and every failure counted by its kind.\n' +
        'Writes eval-report.json and eval-report.md into the directory of the job.',
    )
    .argument('<job>', "the job's directory, or its name among the jobs of --jobs-dir")
    .option('-o, --jobs-dir <dir>', 'where a bare name is looked up', 'jobs')
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json }) => {
      const job = await findJob(given, jobsDir)
      const { report } = await scoreJob(job)
      const text = renderScore(report)
      await writeAtomic(join(job.dir, 'eval-report.json'), `${JSON.stringify(report, null, 2)}\n`)
      await writeAtomic(join(job.dir, 'eval-report.md'), text)
      if (json) printJson(report)
      else process.stdout.write(text)
    })
