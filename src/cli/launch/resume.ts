import { clearEnds } from '../../run/launch/journal.ts'
import { checkSecretsFile, secretsFileOf } from '../../run/launch/secrets.ts'
import { missingJobs, submitJobs } from '../../run/launch/submit.ts'
import { note, printJson } from '../output.ts'
import { launchCommand, lookAt, openLaunch } from './stored.ts'

/** `ot-agent launch resume`: hands over again what is neither done nor waits nor runs. */
export default () =>
  launchCommand()
    .description(
      'Submits unfinished work again: failed, cancelled and lost jobs, and only the missing tasks of arrays. Finished work is kept.',
    )
    .option('--dry-run', 'print what would be submitted, and do nothing')
    .option('--json', 'print the result as JSON')
    .action(async (asked, { experimentsDir, dryRun, json }) => {
      const { stored, scheduler } = await openLaunch(asked, experimentsDir)
      const units = await lookAt({ stored, scheduler })
      const jobs = missingJobs(stored.launch, units)
      const { id } = stored.launch
      for (const [job, tasks] of jobs) note(`${job}${tasks === null ? '' : `: tasks ${tasks.join(', ')}`}`)
      if (jobs.size === 0) note('everything is done, waits or runs')
      if (dryRun || jobs.size === 0) {
        if (json) printJson({ schema: 'launch-resume/1', id, jobs: Object.fromEntries(jobs), submitted: [] })
        return
      }
      const secretsFile = secretsFileOf(process.env)
      if (secretsFile !== null) await checkSecretsFile(secretsFile)
      const again = units.filter(({ job, task }) => jobs.has(job) && (jobs.get(job)?.includes(task ?? 0) ?? true))
      await clearEnds(
        stored.dir,
        again.map(({ unit }) => unit),
      )
      const submitted = await submitJobs({ launch: stored.launch, scheduler, earlier: stored.submissions, jobs })
      if (json) return printJson({ schema: 'launch-resume/1', id, jobs: Object.fromEntries(jobs), submitted })
      for (const { job, id: scheduled } of submitted) note(`${job}: ${scheduled}`)
    })
