import { Command } from '@commander-js/extra-typings'
import { compareJobs } from '../../app/evaluate.ts'
import { findJob } from '../../app/jobs/find-job.ts'
import { printJson } from '../output.ts'
import { writeOutputFile } from '../run/output-file.ts'
import { comparePage } from './compare-page.ts'
import { maxFailedOption } from './options.ts'
import { printPage, renderHtml, renderMarkdown } from './page.ts'

/** `ot-agent eval compare`: whether jobs differ, task by task. */
export default () =>
  new Command()
    .description(
      'Says in one sentence whether two jobs differ, using the tasks that both have: the paired difference with a 95 % ' +
        'interval and a sign-flip test. A difference within noise is reported as undecided.\n' +
        'With more than two results, p-values are corrected (Holm), and ranks can be tied.',
    )
    .argument('<job...>', 'two or more jobs, or one job with several agents or models')
    .option('-o, --jobs-dir <dir>', 'where to look up names without a path', 'jobs')
    .addOption(maxFailedOption())
    .option('--markdown <file>', 'also write the result as Markdown')
    .option('--html <file>', 'also write a page with plots')
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, maxFailed, markdown, html, json }) => {
      const dirs: string[] = []
      for (const name of given) dirs.push((await findJob(name, jobsDir)).dir)
      const comparison = await compareJobs(dirs, { maxFailedShare: maxFailed })
      const page = comparePage(comparison)
      if (markdown !== undefined) await writeOutputFile(markdown, renderMarkdown(page))
      if (html !== undefined) await writeOutputFile(html, renderHtml(page))
      if (json) printJson(comparison)
      else printPage(page)
    })
