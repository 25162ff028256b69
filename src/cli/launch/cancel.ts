import { UserError } from '../../core/errors.ts'
import { note, printJson } from '../output.ts'
import { launchCommand, lookAt, openLaunch } from './stored.ts'

/** `ot-agent launch cancel`: stops what waits or runs. */
export default () =>
  launchCommand()
    .description(
      'Cancels the waiting and running jobs of a launch. Finished jobs are kept; launch resume continues from there.',
    )
    .option('--job <name>', 'only this job')
    .option('--json', 'print the result as JSON')
    .action(async (asked, { experimentsDir, job, json }) => {
      const { stored, scheduler } = await openLaunch(asked, experimentsDir)
      if (job !== undefined && !stored.launch.jobs.some(({ name }) => name === job))
        throw new UserError(
          `no job of this launch is called ${job}`,
          `there are ${stored.launch.jobs.map(({ name }) => name).join(', ')}`,
        )
      const units = await lookAt({ stored, scheduler })
      const active = new Set(
        units.filter(({ state }) => state === 'waiting' || state === 'running').map((unit) => unit.job),
      )
      // Last first: what waits for another must not start when that one ends.
      const submissions = stored.submissions
        .filter((each) => active.has(each.job) && (job === undefined || each.job === job))
        .reverse()
      await scheduler.cancel(submissions)
      if (json)
        return printJson({
          schema: 'launch-cancel/1',
          id: stored.launch.id,
          cancelled: submissions.map(({ id }) => id),
        })
      note(submissions.length === 0 ? 'nothing of it waits or runs' : `told ${submissions.length} to stop`)
    })
