import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { listLaunches, loadLaunch } from '../../run/launch/journal.ts'
import { printJson, printTable } from '../output.ts'

/** `ot-agent launch list`: the launches of an experiments directory. */
export default () =>
  new Command()
    .description('Lists the launches that were written down in a directory, oldest first.')
    .option('--experiments-dir <dir>', 'where launches are written down', 'experiments')
    .option('--json', 'print the result as JSON')
    .action(async ({ experimentsDir, json }) => {
      const dir = resolve(experimentsDir)
      const stored = await Promise.all((await listLaunches(dir)).map((id) => loadLaunch(dir, id)))
      const rows = stored.map(({ launch, createdAt, submissions }) => ({
        id: launch.id,
        jobType: launch.jobType,
        cluster: launch.cluster.name,
        createdAt,
        jobs: launch.jobs.map(({ name }) => name),
        submitted: submissions.length,
      }))
      if (json) return printJson({ schema: 'launch-list/1', launches: rows })
      printTable(
        ['launch', 'for', 'cluster', 'created', 'jobs'],
        rows.map(({ id, jobType, cluster, createdAt, jobs }) => [
          id,
          jobType,
          cluster,
          createdAt.slice(0, 19),
          jobs.join(', '),
        ]),
      )
    })
