import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { writeNewTask } from '../../app/tasks/new-task.ts'
import { programName } from '../../lib/program-name.ts'
import { note, printJson } from '../output.ts'

interface Author {
  readonly name: string
  readonly email?: string
}

/** `ot-agent tasks init`: writes a small working task, to adapt. */
export default () =>
  new Command()
    .description(
      'Writes a small working task: its oracle scores 1 and doing nothing scores 0. Use it as a starting point for your own.',
    )
    .argument('<name>', 'name of the task, or org/name')
    .option('--org <org>', 'organization the task belongs to')
    .option('-p, --path <dir>', 'folder to write the task to', '.')
    .option('--steps <n>', 'make a multi-step task with this many steps', wholeNumber(0), 0)
    .option('--no-solution', 'write no solution')
    .option('--description <text>', 'description of the task, in a sentence', '')
    .option('--author <"Name <mail>">', 'author of the task; repeatable', addAuthor, [] as Author[])
    .option('--json', 'print the result as JSON')
    .action(async (given, { author, steps, solution, json, ...options }) => {
      const asked = { ...options, name: given, authors: author, steps, withSolution: solution }
      const { name, dir } = await writeNewTask(asked)
      if (json) return printJson({ name, dir, steps })
      process.stdout.write(`${dir}\n`)
      note(`next: edit it, then run ${programName()} tasks check ${dir}`)
    })

function addAuthor(text: string, authors: readonly Author[]): Author[] {
  const [, name = '', email] = /^([^<>]*?)\s*(?:<([^<>]+)>)?$/.exec(text.trim()) ?? []
  if (name === '') throw new InvalidArgumentError(`expected "Name <mail>" or "Name", got ${JSON.stringify(text)}`)
  return [...authors, email === undefined ? { name } : { name, email }]
}
