import { Argument, Command } from '@commander-js/extra-typings'
import { dropEntry, entryKinds } from '../../app/registry/entries.ts'
import { oneLine } from '../../lib/visible.ts'
import { printJson } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry remove`: removes one entry from the registry. */
export default () =>
  new Command()
    .description(
      'Removes one dataset, model, agent, benchmark, task or run from the registry; a run is removed with its trials.\n' +
        'An entry that others refer to is not removed. Files and repositories stay: this only changes the registry.',
    )
    .addArgument(new Argument('<kind>', 'kind of entry').choices(entryKinds))
    .argument('<name>', 'its full name, NAME@VERSION for one of several versions, or its id')
    .option('--dry-run', 'print what would be removed, and remove nothing')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async (kind, name, { dryRun = false, json, ...place }) => {
      const { parts, ...entry } = await dropEntry(place, kind, name, dryRun)
      if (json) return printJson({ schema: 'registry-removed/1', dryRun, ...entry, parts })
      const more = Object.entries(parts).map(([what, count]) => `${count} ${what}`)
      const verb = dryRun ? 'would remove' : 'removed'
      process.stdout.write(`${verb} ${[`${kind} ${oneLine(entry.name)}`, ...more].join(', ')}\n`)
    })
