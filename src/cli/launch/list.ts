import { Command } from '@commander-js/extra-typings'
import { listLaunches } from '../../app/launches.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent launch list`: lists the launches in an experiments directory. */
export default () =>
  new Command()
    .description('Lists the launches recorded in a directory, oldest first.')
    .option('--experiments-dir <dir>', 'directory that launches are recorded in', 'experiments')
    .option('--json', 'print the result as JSON')
    .action(async ({ experimentsDir, json }) => {
      const { launches, broken } = await listLaunches({ experimentsDir })
      for (const line of broken) note(line)
      if (json) return printJson({ schema: 'launch-list/1', launches })
      const cells = launches.map(({ id, jobType, cluster, createdAt, jobs }) => [
        ...[id, jobType, cluster],
        ...[createdAt.slice(0, 19), jobs.join(', ')],
      ])
      printTable(['launch', 'for', 'cluster', 'created', 'jobs'], cells)
    })
