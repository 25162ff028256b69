import { Command } from '@commander-js/extra-typings'
import { unpackJobFile, unpackTrials } from '../../app/jobs/pack-jobs.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent jobs unpack`: turns packed files back into trial directories. */
export default () =>
  new Command()
    .description(
      'Turns a packed job back into trial directories, which Harbor’s own tools can open.\n' +
        'The packed files are removed only once all directories are in place. If it is interrupted, the job is unchanged, and ' +
        'the same command resumes.\n' +
        'Jobs that hub upload packed into a parquet file are written to --jobs-dir.',
    )
    .argument('<job>', 'a job directory, the name of a job in --jobs-dir, or a parquet file of jobs')
    .option(
      '-o, --jobs-dir <dir>',
      'where to look up a name without a path, and where to write the jobs of a parquet file',
      'jobs',
    )
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, json }) => {
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const onProgress = (done: number) => tick(`unpacked ${done} trials`)
        if (given.endsWith('.parquet')) {
          const { jobs, trials } = await unpackJobFile(given, jobsDir, { signal: interrupt.signal, onProgress })
          if (json) return printJson({ schema: 'jobs-unpack/1', jobs, trials })
          for (const job of jobs) process.stdout.write(`${oneLine(job)}\n`)
          return note(`${jobs.length} jobs, ${trials} trials`)
        }
        const { before, unpacked } = await unpackTrials(given, jobsDir, { signal: interrupt.signal, onProgress })
        const { job } = unpacked
        if (unpacked.droppedLinks > 0)
          note(`${unpacked.droppedLinks} links that point outside their trial were not restored`)
        if (json) printJson(unpacked)
        else if (before === 'harbor') process.stdout.write(`${job} already has trial directories\n`)
        else process.stdout.write(`unpacked ${job}: ${unpacked.trials} trials\n`)
      } finally {
        interrupt.stop()
      }
    })
