import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Submission } from '../../core/launch.ts'
import { nearest } from '../../lib/nearest.ts'
import { wholeNumber } from '../output.ts'
import { launchCommand, openLaunch } from './stored.ts'

/** `ot-agent launch logs`: the end of what each job printed. */
export default () =>
  launchCommand()
    .description('Prints the end of what the jobs of a launch printed.')
    .option('--job <name>', 'only this job, for example traces')
    .option('--task <n>', 'only this task of an array', wholeNumber(0))
    .option('--bytes <n>', 'print at most this many bytes of each', wholeNumber(1), 20_000)
    .action(async (asked, { experimentsDir, job, task, bytes }) => {
      const { stored } = await openLaunch(asked, experimentsDir)
      const { jobs, experimentsDir: dir } = stored.launch
      if (job !== undefined && !jobs.some(({ name }) => name === job)) {
        const names = jobs.map(({ name }) => name)
        throw new UserError(
          `no job of this launch is called ${job}`,
          `did you mean ${nearest(job, names) ?? names.join(', ')}?`,
        )
      }
      const names = (await readdir(join(dir, 'logs')).catch(() => [])).sort()
      for (const each of jobs.filter(({ name }) => job === undefined || name === job)) {
        const own = stored.submissions.filter((submission) => submission.job === each.name)
        for (const name of names.filter((file) => belongs(file, each.jobName, own, task))) {
          process.stdout.write(`==> ${join(dir, 'logs', name)} <==\n${await tail(join(dir, 'logs', name), bytes)}\n`)
        }
      }
    })

/** `NAME_ID.out`, `NAME_ID_TASK.out`, or `NAME.out` where there is no scheduler. */
function belongs(file: string, jobName: string, own: readonly Submission[], task: number | undefined): boolean {
  if (!file.startsWith(jobName)) return false
  const [, id, of] = /^(?:_(\d+)(?:_(\d+))?)?\.out$/.exec(file.slice(jobName.length)) ?? [null]
  if (id === undefined && file !== `${jobName}.out`) return false
  return (
    (id === undefined || own.some((each) => each.id === id)) &&
    (task === undefined || of === undefined || Number(of) === task)
  )
}

async function tail(path: string, bytes: number): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - bytes)
    const { buffer, bytesRead } = await file.read({ position: from, buffer: Buffer.alloc(size - from) })
    return buffer.toString('utf8', 0, bytesRead).replaceAll(/\r\n?/g, '\n')
  } finally {
    await file.close()
  }
}
