import { isOver, type JobStatus, jobsOf, type UnitStatus } from '../../run/launch/status.ts'
import { printJson, printTable } from '../output.ts'
import { launchCommand, lookAt, openLaunch } from './stored.ts'

/** `ot-agent launch status`: how the jobs of a launch stand. */
export default () =>
  launchCommand()
    .description(
      'Tells how the jobs of a launch stand, from one question to the scheduler and from what the jobs wrote down themselves.',
    )
    .option('--units', 'a line for every task of an array')
    .option('--json', 'print the result as JSON')
    .action(async (asked, { experimentsDir, units: each, json }) => {
      const opened = await openLaunch(asked, experimentsDir)
      const units = await lookAt(opened)
      const { id } = opened.stored.launch
      if (json) return printJson({ schema: 'launch-status/1', id, over: isOver(units), jobs: jobsOf(units), units })
      process.stdout.write(`${id}\n`)
      if (each) printUnits(units)
      else printJobs(jobsOf(units))
    })

/** One line for each job. */
export function printJobs(jobs: readonly JobStatus[]): void {
  printTable(
    ['job', 'state', 'tasks', 'ids', 'why'],
    jobs.map(({ job, state, units, ids, reason }) => [job, state, shownCounts(units), ids.join(' '), reason]),
  )
}

/** `12 done, 3 running`. */
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
