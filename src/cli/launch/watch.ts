import { wholeNumber } from '../../app/flags/values.ts'
import { watchLaunch } from '../../app/launches.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { launchCommand } from './launch-command.ts'
import { printJobs, shownCounts } from './status.ts'

/** `ot-agent launch watch`: prints a line on every change, until nothing is waiting or running. */
export default () =>
  launchCommand()
    .description(
      'Follows a launch until it ends: exits with 0 when everything is done, and with 3 when something is not. Stopping this ' +
        'command does not stop any job.',
    )
    .option('--every <sec>', 'seconds between checks', wholeNumber(1), 15)
    .option('--json', 'print the result as JSON')
    .action(async (launch, { experimentsDir, every, json }) => {
      const interrupt = interruptSignal()
      try {
        const watching = watchLaunch({ launch, experimentsDir, everySec: every }, interrupt)
        for await (const { job, units, reason } of watching) note(`${job}: ${shownCounts(units)} (${reason})`)
        const status = await watching
        if (json) printJson({ schema: 'launch-status/1', ...status })
        else printJobs(status.jobs)
        if (status.jobs.some(({ state }) => state !== 'done')) process.exitCode = 3
      } finally {
        interrupt.stop()
      }
    })
