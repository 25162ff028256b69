import { Command } from '@commander-js/extra-typings'
import { unpackJobFile, unpackTrials } from '../../app/jobs/pack-jobs.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent jobs unpack`: packed files become trial directories again. */
export default () =>
  new Command()
    .description(
      'Turns a packed job back into trial directories, which Harbor’s own tools can open.\n' +
        'The packed files go only when all directories are in place. If it is interrupted, the job is unchanged, and the same command resumes.\n' +
        'Jobs that hub upload packed into a parquet file are put into --jobs-dir.',
    )
    .argument('<job>', "the job's directory, its name among the jobs of --jobs-dir, or a parquet file of jobs")
    .option('-o, --jobs-dir <dir>', 'where a bare name is looked up, and where jobs of a parquet file are put', 'jobs')
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
          note(`${unpacked.droppedLinks} links that lead out of their trial were not made again`)
        if (json) printJson(unpacked)
        else if (before === 'harbor') process.stdout.write(`${job} has trial directories already\n`)
        else process.stdout.write(`${job} has trial directories again: ${unpacked.trials} trials\n`)
      } finally {
        interrupt.stop()
      }
    })
