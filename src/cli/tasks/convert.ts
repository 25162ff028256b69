import { Command } from '@commander-js/extra-typings'
import { type ConvertedTasks, convertTasks } from '../../app/tasks/convert-tasks.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent tasks convert`: converts Terminal-Bench tasks to Harbor tasks. */
export default () =>
  new Command()
    .description(
      'Converts Terminal-Bench tasks (task.yaml) to Harbor tasks, each in a folder of its own name below DIR.\n' +
        'A task that cannot be converted is reported and writes nothing; the exit code is then 3.',
    )
    .argument('<source>', 'a Terminal-Bench task, or a folder of them')
    .requiredOption('-o, --out <dir>', 'folder to write the Harbor tasks to')
    .option('--json', 'print the result as JSON')
    .action(async (source, options) => {
      const tasks = await convertTasks(source, options.out)
      const failed = tasks.failed.map(({ source, error }) => ({ source, reason: error.message }))
      if (options.json) printJson({ converted: tasks.converted, failed })
      else printForPeople(tasks)
      if (failed.length > 0) process.exitCode = 3
    })

function printForPeople({ converted, failed }: ConvertedTasks): void {
  for (const { dir, warnings } of converted) for (const warning of warnings) note(`${dir}: ${warning}`)
  for (const { source, error } of failed) note(`${source}: not converted: ${error.message}`)
  printTable(
    ['source', 'task', 'warnings'],
    converted.map(({ source, dir, warnings }) => [source, dir, String(warnings.length)]),
  )
}
