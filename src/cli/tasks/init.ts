import { join } from 'node:path'
import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { UserError } from '../../core/errors.ts'
import { isTaskName } from '../../formats/harbor-task/from-toml.ts'
import { saveTask } from '../../formats/harbor-task/save.ts'
import { starterTask } from '../../formats/harbor-task/starter.ts'
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
    .action(async (given, options) => {
      const { org, name } = parseName(given, options.org)
      const dir = join(options.path, name)
      const task = starterTask({
        ...(org === undefined ? {} : { name: `${org}/${name}` }),
        description: options.description,
        authors: options.author,
        steps: options.steps,
        withSolution: options.solution,
      })
      await saveTask(dir, task)
      if (options.json) return printJson({ name: task.settings.name ?? name, dir, steps: options.steps })
      process.stdout.write(`${dir}\n`)
      note(`next: make it yours, then ot-agent tasks check ${dir}`)
    })

function parseName(given: string, option: string | undefined): { org: string | undefined; name: string } {
  const [name = '', fromName, ...rest] = given.split('/').reverse()
  const org = fromName ?? option
  if (fromName !== undefined && option !== undefined && fromName !== option) {
    throw new UserError(`expected one organisation, got ${given} and --org ${option}`, 'leave --org out')
  }
  if (rest.length > 0 || !isTaskName(`${org ?? 'org'}/${name}`)) {
    throw new UserError(
      `expected the name of a task of letters, digits, ".", "_" and "-", got ${JSON.stringify(option === undefined ? given : `${option}/${given}`)}`,
      'for example: ot-agent tasks init count-words --org my-lab',
    )
  }
  return { org, name }
}

function addAuthor(text: string, authors: readonly Author[]): Author[] {
  const [, name = '', email] = /^([^<>]*?)\s*(?:<([^<>]+)>)?$/.exec(text.trim()) ?? []
  if (name === '') throw new InvalidArgumentError(`expected "Name <mail>" or "Name", got ${JSON.stringify(text)}`)
  return [...authors, email === undefined ? { name } : { name, email }]
}
