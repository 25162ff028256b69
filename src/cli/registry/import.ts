import { Command } from '@commander-js/extra-typings'
import { importRegistry } from '../../app/registry/transfer.ts'
import { printJson } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry import`: imports the rows of an export into a registry. */
export default () =>
  new Command()
    .description(
      'Adds the rows of an export that the registry does not have yet. The export may come from the other kind of database.',
    )
    .argument('<file>', 'a file that `registry export` wrote')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async (file, { json, ...place }) => {
      const { read, added } = await importRegistry(place, file)
      if (json) printJson({ schema: 'registry-import/1', read, added })
      else process.stdout.write(`${added} of ${read} rows are new\n`)
    })
