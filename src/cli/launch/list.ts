import { resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import { listLaunches, loadLaunch } from '../../run/launch/journal.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent launch list`: the launches of an experiments directory. */
export default () =>
  new Command()
    .description('Lists the launches that were written down in a directory, oldest first.')
    .option('--experiments-dir <dir>', 'where launches are written down', 'experiments')
    .option('--json', 'print the result as JSON')
    .action(async ({ experimentsDir, json }) => {
      const dir = resolve(experimentsDir)
      const found = await Promise.allSettled((await listLaunches(dir)).map((id) => loadLaunch(dir, id)))
      for (const each of found) if (each.status === 'rejected') noteBroken(each.reason)
      const stored = found.filter((each) => each.status === 'fulfilled')
      const rows = stored
        .map(({ value }) => value)
        .map(({ launch, createdAt, submissions }) => ({
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

/** One that cannot be read hides no other. */
function noteBroken(error: unknown): void {
  if (!(error instanceof UserError)) throw error
  note(error.message)
}
