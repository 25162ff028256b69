import { Command } from '@commander-js/extra-typings'
import { copyBestTrials } from '../../app/analysis/best-trials.ts'
import { explainDisk } from '../../app/disk-errors.ts'
import { jobPaths } from '../../app/jobs/find-job.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'
import { recursiveOption } from '../traces/options.ts'

/** `ot-agent jobs best`: copies the best trial of each task. */
export default () =>
  new Command()
    .description(
      'Copies the best trial of each task into a new directory: the highest reward, then no exception, then the fewest output ' +
        'tokens, turns and seconds.\n' +
        'traces export, traces stats and jobs report can read that directory.',
    )
    .argument('<path...>', 'jobs, trials, or directories of them, from ot-agent or Harbor, packed or not')
    .requiredOption('--out <dir>', 'the directory to create')
    .option('--solved', 'only tasks solved at least once')
    .addOption(recursiveOption())
    .option('-o, --jobs-dir <dir>', 'where to look up job names without a path', 'jobs')
    .option('--json', 'print what was copied as JSON')
    .action(async (given, { jobsDir, out, solved, recursive, json }) => {
      const interrupt = interruptSignal()
      try {
        const { signal } = interrupt
        const paths = await jobPaths(given, jobsDir)
        const request = { paths, out, recursive, solvedOnly: solved, onBroken: note, signal }
        const trials = await explainDisk(out, () => copyBestTrials(request))
        if (json) return printJson({ schema: 'best-trials/1', out, trials })
        printTable(
          ['task', 'trial', 'reward', 'of trials'],
          trials.map(({ task, job, trial, reward, of }) => [
            task,
            `${job}/${trial}`,
            reward === null ? '-' : String(reward),
            String(of),
          ]),
        )
      } finally {
        interrupt.stop()
      }
    })
