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
      'Says in one sentence whether two jobs differ, from the tasks both have: the paired difference with a 95 % interval and a sign-flip\n' +
        'test. A difference within noise is undecided. With more than two results the tests are corrected (Holm), and ranks have ties.',
    )
    .argument('<job...>', 'two or more jobs, or one job with several agents or models')
    .option('-o, --jobs-dir <dir>', 'where bare names are looked up', 'jobs')
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
