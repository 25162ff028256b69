import { cancelLaunch } from '../../app/launches.ts'
import { note, printJson } from '../output.ts'
import { launchCommand } from './launch-command.ts'

/** `ot-agent launch cancel`: stops what waits or runs. */
export default () =>
  launchCommand()
    .description(
      'Cancels the waiting and running jobs of a launch. Finished jobs are kept; launch resume continues from there.',
    )
    .option('--job <name>', 'only this job, with those that need it and the servers that only it needs')
    .option('--json', 'print the result as JSON')
    .action(async (launch, { experimentsDir, job, json }) => {
      const { id, cancelled } = await cancelLaunch({ launch, experimentsDir, job })
      if (json) return printJson({ schema: 'launch-cancel/1', id, cancelled })
      note(cancelled.length === 0 ? 'nothing of it waits or runs' : `told ${cancelled.length} to stop`)
    })
