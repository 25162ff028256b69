import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { writeNewTask } from '../../app/tasks/new-task.ts'
import { programName } from '../../lib/program-name.ts'
import { note, printJson } from '../output.ts'

interface Author {
  readonly name: string
  readonly email?: string
}

/** `ot-agent tasks init`: a small task that works, to change into the one you want. */
export default () =>
  new Command()
    .description(
      'Writes a small task that works: its oracle scores 1 and doing nothing scores 0. Change it into yours.',
    )
    .argument('<name>', 'name of the task, or org/name')
    .option('--org <org>', 'organisation the task belongs to')
    .option('-p, --path <dir>', 'folder to write the task into', '.')
    .option('--steps <n>', 'make a multi-step task with this many steps', wholeNumber(0), 0)
    .option('--no-solution', 'leave the solution out')
    .option('--description <text>', 'what the task is, in a sentence', '')
    .option('--author <"Name <mail>">', 'who wrote it; may be repeated', addAuthor, [] as Author[])
    .option('--json', 'print the result as JSON')
    .action(async (given, { author, steps, solution, json, ...options }) => {
      const asked = { ...options, name: given, authors: author, steps, withSolution: solution }
      const { name, dir } = await writeNewTask(asked)
      if (json) return printJson({ name, dir, steps })
      process.stdout.write(`${dir}\n`)
      note(`next: make it yours, then ${programName()} tasks check ${dir}`)
    })

function addAuthor(text: string, authors: readonly Author[]): Author[] {
  const [, name = '', email] = /^([^<>]*?)\s*(?:<([^<>]+)>)?$/.exec(text.trim()) ?? []
  if (name === '') throw new InvalidArgumentError(`expected "Name <mail>" or "Name", got ${JSON.stringify(text)}`)
  return [...authors, email === undefined ? { name } : { name, email }]
}
