import { Command, Option } from '@commander-js/extra-typings'
import { type AnalysisRequest, analyzeJobs, reportSections, withLabelsFile } from '../../app/analysis/analyze-jobs.ts'
import { openFailureJudge } from '../../app/analysis/judge-failures.ts'
import { explainDisk } from '../../app/disk-errors.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import { jobPaths } from '../../app/jobs/find-job.ts'
import { UserError } from '../../core/errors.ts'
import { printPage, renderHtml } from '../eval/page.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { checkOutputFile, writeOutputFile } from '../run/output-file.ts'
import { makeTicker } from '../ticker.ts'
import { recursiveOption } from '../traces/options.ts'
import { jobsPage } from './report-page.ts'

/** `ot-agent jobs report`: where the time, turns, commands and failures of jobs went. */
export default () =>
  new Command()
    .description(
      'Reports where the time of jobs went (phases, slowest trials, exceptions), how many turns and tokens trials took, which ' +
        'programs agents ran, and why trials were not solved: by rules and, on request, by a model that must quote its ' +
        'evidence.',
    )
    .argument('<path...>', 'jobs, trials, or directories of them, from ot-agent or Harbor, packed or not')
    .addOption(
      new Option('--only <section...>', 'sections to report; runtime alone reads no trajectories').choices(
        reportSections,
      ),
    )
    .addOption(recursiveOption())
    .option('-o, --jobs-dir <dir>', 'where to look up job names without a path', 'jobs')
    .option('--slowest <n>', 'how many of the slowest trials to list', wholeNumber(0), 10)
    .option('--labels <file>', 'also write why each unsolved trial failed, one line of JSON per trial')
    .option('--html <file>', 'also write a page with tables and plots')
    .option('--judge-model <name>', 'model to ask why trials failed')
    .option('--judge-api-base <url>', 'address of its server')
    .option('--judge-api-key-env <name>', 'environment variable with its API key')
    .option('--judge-engine-kwarg <key=value...>', 'option of its engine')
    .option('--judge-trials <n>', 'how many unsolved trials to ask it about', wholeNumber(1), 20)
    .option('--json', 'print the report as JSON')
    .action(async (given, { jobsDir, only, recursive, slowest, labels, html, judgeTrials, json, ...options }) => {
      const settings = judgeSettingsOf(options)
      if ((settings || labels !== undefined) && only && !only.includes('failures'))
        throw new UserError(
          `${settings ? '--judge-model' : '--labels'} needs the section failures, which --only excludes`,
          'add failures to --only',
        )
      for (const file of [labels, html]) if (file !== undefined) await checkOutputFile(file)
      const interrupt = interruptSignal()
      try {
        const { signal } = interrupt
        const paths = await jobPaths(given, jobsDir)
        const tick = makeTicker()
        const judge = settings && (await openFailureJudge(settings, signal))
        const onTrial = (seen: number) => tick(`${seen} trials read`)
        const ask = { paths, recursive, sections: only, slowest, judge, judgeTrials, onBroken: note, onTrial, signal }
        const analyze = (onLabels?: AnalysisRequest['onLabels']) => analyzeJobs({ ...ask, onLabels })
        const report = await (labels === undefined
          ? analyze()
          : explainDisk(labels, () => withLabelsFile(labels, analyze)))
        const page = jobsPage(report)
        if (html !== undefined) await writeOutputFile(html, renderHtml(page))
        if (json) printJson(report)
        else printPage(page)
      } finally {
        interrupt.stop()
      }
    })
