import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { type EvalReport, evaluate } from '../../app/evaluate.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { writeAtomic } from '../../lib/files.ts'
import { note, printJson } from '../output.ts'
import { maxFailedOption } from './options.ts'
import { printPage, renderHtml, renderMarkdown } from './page.ts'
import { reportPage } from './report-page.ts'

/** `ot-agent eval report`: the score of a job, with its interval. */
export default () =>
  new Command()
    .description(
      'Scores jobs: the mean reward over tasks with a 95 % interval from the spread between tasks, pass@k and pass^k, and the ' +
        'number of failures of each kind.\n' +
        'Writes eval-report.json, .md and .html into the directory of each job.',
    )
    .argument('<job...>', 'job directories, or names of jobs in --jobs-dir')
    .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
    .addOption(maxFailedOption())
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, maxFailed, json }) => {
      const reports: EvalReport[] = []
      for (const name of given) {
        const { dir } = await findJob(name, jobsDir)
        reports.push(await evaluate(dir, { maxFailedShare: maxFailed }))
      }
      for (const report of reports) await writeReport(report)
      for (const { job, runs } of reports) if (runs.length === 0) note(`${job}: no trial has ended`)
      if (json) return printJson(reports.length === 1 ? reports[0] : { schema: 'eval-reports/1', reports })
      const runs = reports.flatMap((report) => report.runs)
      printPage(reportPage(reports.map(({ job }) => job).join(', '), runs))
    })

/** Writes a job's report into its directory, as JSON, Markdown and HTML. */
export async function writeReport(report: EvalReport): Promise<void> {
  const page = reportPage(report.job, report.runs)
  const files = {
    'eval-report.json': `${JSON.stringify(report, null, 2)}\n`,
    'eval-report.md': renderMarkdown(page),
    'eval-report.html': renderHtml(page),
  }
  for (const [name, text] of Object.entries(files)) {
    const path = join(report.dir, name)
    await explainDisk(path, () => writeAtomic(path, text))
  }
}
