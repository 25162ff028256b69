import { Command } from '@commander-js/extra-typings'
import { several } from '../../app/flags/values.ts'
import { editTasks } from '../../app/tasks/edit-tasks.ts'
import { printJson } from '../output.ts'

/** `ot-agent tasks edit`: edits keys of task.toml in many tasks at once. */
export default () =>
  new Command()
    .description(
      'Sets or removes keys of task.toml in a task or in every task of a folder, for example a time limit.\n' +
        'All files are checked before the first is written: if one would become invalid, none is changed. Comments are lost.',
    )
    .argument('<path>', 'a task, or a folder of tasks')
    .option(
      '--set <key=value>',
      'a key to set, such as agent.timeout_sec=900; the value is JSON if it parses as JSON, otherwise text; repeatable',
      several,
    )
    .option('--unset <key>', 'a key to remove; repeatable', several)
    .option('--json', 'print the names of the tasks as JSON')
    .action(async (path, { set = [], unset = [], json }) => {
      const { tasks } = await editTasks({ path, set, unset })
      if (json) printJson({ schema: 'edited-tasks/1', tasks })
      else process.stdout.write(`changed task.toml of ${tasks.length} tasks\n`)
    })
