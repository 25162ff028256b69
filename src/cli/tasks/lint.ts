import { relative } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { lintTasks } from '../../app/tasks/lint-tasks.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent tasks lint`: checks a task's files without running anything. */
export default () =>
  new Command()
    .description(
      'Looks for mistakes in the files of tasks, such as a missing reward, an answer in the instruction or a script with a ' +
        'syntax error. Starts nothing.\n' +
        '`tasks check` lints too, and then proves with real runs that the tasks are sound.\n' +
        'Exits with 3 when there are errors; warnings alone do not fail the command.',
    )
    .argument('<paths...>', 'tasks, or folders of tasks')
    .option('--json', 'print the result as JSON')
    .action(async (paths, { json }) => {
      const reports = await lintTasks(paths)
      const of = (severity: string) =>
        reports.flatMap(({ findings }) => findings).filter((it) => it.severity === severity).length
      const errors = of('error')
      const warnings = of('warning')
      if (json) printJson({ schema: 'tasks-lint/1', errors, warnings, tasks: reports })
      else {
        for (const { dir, findings } of reports)
          for (const { severity, lint, path, message } of findings) {
            const place = relative('', dir) || '.'
            process.stdout.write(
              `${oneLine(`${path === '' ? place : `${place}/${path}`}: ${severity}: ${message} (${lint})`)}\n`,
            )
          }
        note(`${reports.length} tasks, ${errors} errors, ${warnings} warnings`)
      }
      if (errors > 0) process.exitCode = 3
    })
