import { wholeNumber } from '../../app/flags/values.ts'
import { launchLogs } from '../../app/launches.ts'
import { launchCommand } from './launch-command.ts'

/** `ot-agent launch logs`: shows the end of each job's output. */
export default () =>
  launchCommand()
    .description('Prints the end of the logs of the jobs of a launch.')
    .option('--job <name>', 'only this job, for example traces')
    .option('--task <n>', 'only this task of an array', wholeNumber(0))
    .option('--bytes <n>', 'maximum number of bytes to print for each job', wholeNumber(1), 20_000)
    .action(async (launch, options) => {
      for await (const { path, text } of launchLogs({ launch, ...options }))
        process.stdout.write(`==> ${path} <==\n${text}\n`)
    })
