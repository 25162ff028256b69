import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { programName } from '../../lib/program-name.ts'
import { note, printJson } from '../output.ts'
import { writeNew } from '../write-new.ts'

/** `ot-agent agents init`: writes a small working agent in one file, to adapt. */
export default () =>
  new Command()
    .description(
      'Writes a small working agent in one TypeScript file: a model, a sandbox, a loop. Use it as a starting point for your ' +
        'own.',
    )
    .argument('<name>', 'name of the agent; the file is NAME.ts')
    .option('-p, --path <dir>', 'folder to write it to', '.')
    .option('--json', 'print the result as JSON')
    .action(async (name, { path, json = false }) => {
      const file = join(path, `${checked(name)}.ts`)
      await writeNew(path, file, await template(name))
      if (json) return printJson({ name, file })
      process.stdout.write(`${file}\n`)
      const spelt = /^[/.]/.test(file) ? file : `./${file}`
      note(`next: ${programName()} agents test ${spelt} --api-base http://localhost:8000/v1 -m MODEL`)
      note(
        `then: ${programName()} run -p TASKS --agent-import-path ${spelt} --api-base http://localhost:8000/v1 -m MODEL`,
      )
    })

function checked(name: string): string {
  if (/^[A-Za-z][\w-]*$/.test(name)) return name
  throw new UserError(
    `expected an agent name of letters, digits, "_" and "-", got ${JSON.stringify(name)}`,
    'for example: ot-agent agents init my-agent',
  )
}

/** The template is a file in its own right, so that it is checked and run like any other. */
async function template(name: string): Promise<string> {
  const text = await readFile(join(packageRoot, 'examples/agent-template/my-agent.ts'), 'utf8')
  return text.replaceAll('my-agent', name).replaceAll('MyAgent', className(name))
}

function className(name: string): string {
  return name
    .split(/[_-]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
