import { Command } from '@commander-js/extra-typings'
import { packTrials } from '../../app/jobs/pack-jobs.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent jobs pack`: packs trial directories into a few files. */
export default () =>
  new Command()
    .description(
      'Turns the trial directories of a job into a few packed files. Nothing is lost: jobs unpack restores them.\n' +
        'Directories are removed only after all of them are packed. If it is interrupted, the job is unchanged, and the same ' +
        'command resumes.',
    )
    .argument('<job>', 'a job directory, or the name of a job in --jobs-dir')
    .option('-o, --jobs-dir <dir>', 'where to look up a name without a path', 'jobs')
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json }) => {
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const onProgress = (done: number) => tick(`packed ${done} trials`)
        const packed = await packTrials(given, jobsDir, { signal: interrupt.signal, onProgress })
        for (const { trial, reason } of packed.leftAlone) note(`not packed: ${oneLine(trial)}: ${reason}`)
        if (json) printJson(packed)
        else process.stdout.write(`packed ${packed.job}: ${packed.trials} trials, ${megabytes(packed.packedBytes)}\n`)
      } finally {
        interrupt.stop()
      }
    })
