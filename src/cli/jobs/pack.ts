import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { packJob } from '../../store/packed/pack-job.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'
import { findJob } from './find-job.ts'

/** `ot-agent jobs pack`: trial directories become a few packed files. */
export default () =>
  new Command()
    .description(
      'Turns the trial directories of a job into a few packed files. Nothing is lost: jobs unpack turns them back.\n' +
        'Directories go only when all are packed. If it is interrupted, the job is unchanged, and the same command resumes.',
    )
    .argument('<job>', "the job's directory, or its name among the jobs of --jobs-dir")
    .option('-o, --jobs-dir <dir>', 'where a bare name is looked up', 'jobs')
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json }) => {
      const job = await findJob(given, jobsDir)
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const packed = await explainDisk(job.dir, () =>
          packJob(job.dir, { signal: interrupt.signal, onProgress: (done) => tick(`packed ${done} trials`) }),
        )
        for (const { trial, reason } of packed.leftAlone) note(`left alone ${oneLine(trial)}: ${reason}`)
        if (json) printJson({ job: job.dir, ...packed })
        else process.stdout.write(`${job.dir} is packed: ${packed.trials} trials, ${megabytes(packed.packedBytes)}\n`)
      } finally {
        interrupt.stop()
      }
    })
