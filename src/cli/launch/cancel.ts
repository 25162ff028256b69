import { cancelLaunch } from '../../app/launches.ts'
import { note, printJson } from '../output.ts'
import { launchCommand } from './launch-command.ts'

/** `ot-agent launch cancel`: cancels waiting and running jobs. */
export default () =>
  launchCommand()
    .description(
      'Cancels the waiting and running jobs of a launch. Finished jobs are kept, and launch resume continues from there.',
    )
    .option('--job <name>', 'only this job, the jobs that depend on it, and servers that no other job needs')
    .option('--json', 'print the result as JSON')
    .action(async (launch, { experimentsDir, job, json }) => {
      const { id, cancelled } = await cancelLaunch({ launch, experimentsDir, job })
      if (json) return printJson({ schema: 'launch-cancel/1', id, cancelled })
      note(
        cancelled.length === 0 ? 'no job of this launch is waiting or running' : `cancelled ${cancelled.length} jobs`,
      )
    })
