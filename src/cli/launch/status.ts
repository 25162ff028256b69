import { type JobStatus, launchStatus, type UnitStatus } from '../../app/launches.ts'
import { printJson, printTable } from '../output.ts'
import { launchCommand } from './launch-command.ts'

/** `ot-agent launch status`: shows the states of a launch's jobs. */
export default () =>
  launchCommand()
    .description(
      'Shows the state of the jobs of a launch, from one query to the scheduler and from what the jobs recorded themselves.',
    )
    .option('--units', 'print a line for every task of an array')
    .option('--json', 'print the result as JSON')
    .action(async (launch, { experimentsDir, units: each, json }) => {
      const status = await launchStatus({ launch, experimentsDir })
      if (json) return printJson({ schema: 'launch-status/1', ...status })
      process.stdout.write(`${status.id}\n`)
      if (each) printUnits(status.units)
      else printJobs(status.jobs)
    })

/** Prints one line for each job. */
export function printJobs(jobs: readonly JobStatus[]): void {
  printTable(
    ['job', 'state', 'tasks', 'ids', 'why'],
    jobs.map(({ job, state, units, ids, reason }) => [job, state, shownCounts(units), ids.join(' '), reason]),
  )
}

/** For example `12 done, 3 running`. */
export function shownCounts(units: JobStatus['units']): string {
  return Object.entries(units)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
}

function printUnits(units: readonly UnitStatus[]): void {
  printTable(
    ['unit', 'state', 'id', 'why'],
    units.map(({ unit, state, id, reason }) => [unit, state, id ?? '', reason]),
  )
}
