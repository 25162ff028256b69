import { Argument, Command } from '@commander-js/extra-typings'
import { several } from '../../app/flags/values.ts'
import { editEntry, entryKinds } from '../../app/registry/entries.ts'
import { oneLine } from '../../lib/visible.ts'
import { printJson } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry edit`: changes what the registry says about one entry. */
export default () =>
  new Command()
    .description(
      'Changes columns of one dataset, model, agent, benchmark, task or run. Names, results and ids stay as they are.\n' +
        'Without --set it lists the columns that can be changed.',
    )
    .addArgument(new Argument('<kind>', 'kind of entry').choices(entryKinds))
    .argument('<name>', 'its full name, NAME@VERSION for one of several versions, or its id')
    .option('--set <column=value>', 'column to change; null clears it; repeatable', several, [] as string[])
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async (kind, name, { set, json, ...place }) => {
      const entry = await editEntry(place, kind, name, set)
      if (json) return printJson({ schema: 'registry-entry/1', ...entry })
      process.stdout.write(`changed ${kind} ${oneLine(entry.name)}\n`)
    })
