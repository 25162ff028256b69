import { resumeLaunch } from '../../app/launches.ts'
import { printJson } from '../output.ts'
import { launchCommand } from './launch-command.ts'
import { noteEvent } from './print-launch.ts'

/** `ot-agent launch resume`: resubmits the jobs that are neither finished, waiting nor running. */
export default () =>
  launchCommand()
    .description(
      'Submits unfinished work again: failed, cancelled and lost jobs, and only the missing tasks of arrays. Finished work is kept.',
    )
    .option('--dry-run', 'print what would be submitted, and do nothing')
    .option('--json', 'print the result as JSON')
    .action(async (launch, { experimentsDir, dryRun, json }) => {
      const resuming = resumeLaunch({ launch, experimentsDir, dryRun })
      for await (const event of resuming) noteEvent(event)
      const { id, jobs, submitted } = await resuming
      if (json) printJson({ schema: 'launch-resume/1', id, jobs: Object.fromEntries(jobs), submitted })
    })
