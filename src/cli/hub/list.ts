import { Command, Option } from '@commander-js/extra-typings'
import { listHub } from '../../app/hub/list.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent hub list`: lists an organization's models and datasets. */
export default () =>
  new Command()
    .description(
      'Lists the models and datasets of an account or organization on the Hugging Face Hub, newest first.\n' +
        'Private ones are listed only with a token that can see them: HF_TOKEN, or hf auth login.',
    )
    .argument('<organization>', 'an account or an organization')
    .addOption(new Option('--only <type>', 'only these').choices(['models', 'datasets'] as const))
    .option('--json', 'print the list as JSON')
    .action(async (organization, { only, json }) => {
      const types = (['model', 'dataset'] as const).filter((type) => only === undefined || only === `${type}s`)
      const interrupt = interruptSignal()
      const found = await listHub(organization, types, interrupt.signal).finally(interrupt.stop)
      if (json) return printJson({ schema: 'hub-list/1', organization, repositories: found })
      if (found.length === 0) return note(`${organization} has no ${only ?? 'models or datasets'} that you can see`)
      printTable(
        ['type', 'name', 'visibility', 'changed', 'downloads'],
        found.map(({ type, name, isPrivate, lastModified, downloads }) => [
          type,
          name,
          isPrivate ? 'private' : 'public',
          lastModified?.slice(0, 10) ?? '-',
          downloads === null ? '-' : String(downloads),
        ]),
      )
    })
