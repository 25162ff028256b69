import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { unpackJob } from '../../store/packed/unpack-job.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'
import { findJob } from './find-job.ts'

/** `ot-agent jobs unpack`: packed files become trial directories again. */
export default () =>
  new Command()
    .description(
      'Turns a packed job back into trial directories, which Harbor’s own tools can open.\n' +
        'The packed files go only when all directories are in place. If it is interrupted, the job is unchanged, and the same command resumes.',
    )
    .argument('<job>', "the job's directory, or its name among the jobs of --jobs-dir")
    .option('-o, --jobs-dir <dir>', 'where a bare name is looked up', 'jobs')
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json }) => {
      const job = await findJob(given, jobsDir)
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const unpacked = await explainDisk(job.dir, () =>
          unpackJob(job.dir, { signal: interrupt.signal, onProgress: (done) => tick(`unpacked ${done} trials`) }),
        )
        if (unpacked.droppedLinks > 0)
          note(`${unpacked.droppedLinks} links that lead out of their trial were not made again`)
        if (json) printJson({ job: job.dir, ...unpacked })
        else if (job.layout === 'harbor') process.stdout.write(`${job.dir} has trial directories already\n`)
        else process.stdout.write(`${job.dir} has trial directories again: ${unpacked.trials} trials\n`)
      } finally {
        interrupt.stop()
      }
    })
