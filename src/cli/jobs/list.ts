import { Command } from '@commander-js/extra-typings'
import { type JobRow, listJobs } from '../../app/jobs/list-jobs.ts'
import { toLocalNaive } from '../../lib/time.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent jobs list`: the jobs of a directory, ours and Harbor's. */
export default () =>
  new Command()
    .description('Lists the jobs of a directory: the state of each, its mean reward and what failed.')
    .argument('[dir]', 'the directory (default: --jobs-dir)')
    .option('-o, --jobs-dir <dir>', 'directory of jobs', 'jobs')
    .option('--json', 'print the list as JSON')
    .action(async (dir, { jobsDir: usual, json }) => {
      const jobsDir = dir ?? usual
      const { jobs: rows, broken } = await listJobs(jobsDir)
      for (const { name, why } of broken) note(`${oneLine(name)} was skipped: ${oneLine(why)}`)
      if (json) return printJson({ jobs: rows, broken })
      if (rows.length === 0) process.stdout.write(`no jobs in ${jobsDir}\n`)
      else printTable(['job', 'state', 'trials', 'mean reward', 'failed', 'started'], rows.map(cells))
    })

function cells(row: JobRow): string[] {
  const failures = Object.entries(row.failures).map(([blamed, count]) => `${blamed} ${count}`)
  return [
    row.name,
    row.state,
    `${row.done}/${row.total ?? '?'}`,
    row.meanReward?.toFixed(3) ?? '-',
    failures.join(', ') || '-',
    row.startedAt === null ? '-' : toLocalNaive(row.startedAt).slice(0, 19).replace('T', ' '),
  ]
}
