import { sleep } from '../../lib/deadline.ts'
import { isOver, jobsOf } from '../../run/launch/status.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, wholeNumber } from '../output.ts'
import { printJobs, shownCounts } from './status.ts'
import { launchCommand, lookAt, openLaunch } from './stored.ts'

/** `ot-agent launch watch`: a line whenever something changes, until nothing waits or runs. */
export default () =>
  launchCommand()
    .description(
      'Follows a launch and ends with it: exit code 0 when everything is done, 3 when something is not. Stopping it stops no job.',
    )
    .option('--every <sec>', 'seconds between two looks', wholeNumber(1), 15)
    .option('--json', 'print the result as JSON')
    .action(async (asked, { experimentsDir, every, json }) => {
      const interrupt = interruptSignal()
      try {
        const opened = await openLaunch(asked, experimentsDir)
        let before = new Map<string, string>()
        for (;;) {
          const units = await lookAt(opened)
          const jobs = jobsOf(units)
          const now = new Map(jobs.map(({ job, units: counts, state }) => [job, `${state} ${JSON.stringify(counts)}`]))
          for (const { job, units: counts, reason } of jobs)
            if (before.get(job) !== now.get(job)) note(`${job}: ${shownCounts(counts)} (${reason})`)
          before = now
          if (isOver(units)) {
            if (json) printJson({ schema: 'launch-status/1', id: opened.stored.launch.id, over: true, jobs, units })
            else printJobs(jobs)
            if (jobs.some(({ state }) => state !== 'done')) process.exitCode = 3
            return
          }
          await sleep(every * 1000, interrupt.signal)
        }
      } finally {
        interrupt.stop()
      }
    })
