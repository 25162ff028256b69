import { Command } from '@commander-js/extra-typings'
import { scoreJob } from '../../app/eval/score-job.ts'
import { pairedDifference } from '../../core/clustered-interval.ts'
import { UserError } from '../../core/errors.ts'
import { findJob } from '../jobs/find-job.ts'
import { printJson } from '../output.ts'
import { renderInterval } from './render-score.ts'

/** `ot-agent eval compare`: how much better one job is than another, task by task. */
export default () =>
  new Command()
    .description(
      'Compares two jobs on the tasks both have: the paired difference of their scores with a 95 % interval.',
    )
    .argument('<first>', 'a job')
    .argument('<second>', 'the job it is compared with')
    .option('-o, --jobs-dir <dir>', 'where bare names are looked up', 'jobs')
    .option('--json', 'print the result as JSON')
    .action(async (first, second, { jobsDir, json }) => {
      const [a, b] = [await scoreJob(await findJob(first, jobsDir)), await scoreJob(await findJob(second, jobsDir))]
      const difference = pairedDifference(a.rewards, b.rewards)
      if (difference === null)
        throw new UserError('the jobs have fewer than two scored tasks in common', 'compare jobs over the same tasks')
      const sure = difference.low > 0 || difference.high < 0
      if (json) return printJson({ schema: 'eval-compare/1', first: a.report, second: b.report, difference, sure })
      process.stdout.write(`${a.report.job}: ${renderInterval(a.report.score)}\n`)
      process.stdout.write(`${b.report.job}: ${renderInterval(b.report.score)}\n`)
      process.stdout.write(`difference: ${renderInterval(difference)}${sure ? '' : ', which may well be chance'}\n`)
    })
