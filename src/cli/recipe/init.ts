import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { programName } from '../../lib/program-name.ts'
import { note, printJson } from '../output.ts'
import { writeNew } from '../write-new.ts'

/** `ot-agent recipe init`: writes a small recipe that runs offline, to adapt. */
export default () =>
  new Command()
    .description(
      'Writes a small recipe that runs offline: tasks, rollouts, a filter, a dataset. Use it as a starting point for your ' +
        'own.',
    )
    .argument('<name>', 'name of the recipe; the file is NAME.ts')
    .option('-p, --path <dir>', 'folder to write it to', '.')
    .option('--json', 'print the result as JSON')
    .action(async (name, { path, json = false }) => {
      if (!/^[A-Za-z][\w-]*$/.test(name))
        throw new UserError(
          `expected a recipe name of letters, digits, "_" and "-", got ${JSON.stringify(name)}`,
          'for example: ot-agent recipe init my-recipe',
        )
      const file = join(path, `${name}.ts`)
      const text = await readFile(join(packageRoot, 'examples/recipe-template/my-recipe.ts'), 'utf8')
      await writeNew(path, file, text.replaceAll('my-recipe', name))
      if (json) return printJson({ name, file })
      process.stdout.write(`${file}\n`)
      note(`next: ${programName()} recipe check ${file}`)
      note(`then: ${programName()} recipe run ${file}`)
    })
