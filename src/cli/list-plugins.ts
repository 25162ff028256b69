import { Command } from '@commander-js/extra-typings'
import { listPlugins, type PluginKind } from '../app/describe-plugins.ts'
import { copyable } from './copyable.ts'
import { note, printJson, printTable } from './output.ts'

/** A command that lists the plug-ins of a kind that come with the program. */
export function listPluginsOf(kind: PluginKind, { plural, hint }: { plural: string; hint?: string }) {
  return new Command()
    .description(`Lists the ${plural} that come with the program; name your own by its file.`)
    .option('--json', 'print the result as JSON')
    .action(async ({ json = false }) => {
      const rows = await listPlugins(kind)
      if (json) return printJson({ [plural]: rows })
      printTable(
        [kind, 'what it does'],
        rows.map(({ name, summary }) => [name, summary]),
      )
      if (hint !== undefined) note(copyable(hint))
    })
}
