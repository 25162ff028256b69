import { Command } from '@commander-js/extra-typings'
import { findPlugin, type PluginKind } from '../app/describe-plugins.ts'
import { describeNestedOptions, optionsSchema } from '../lib/describe-options.ts'
import { note, printJson, printTable } from './output.ts'

/** A command that shows what a plug-in is for and which options it takes. */
export function showPlugin(kind: PluginKind) {
  return new Command()
    .description(`Shows what one ${kind} is for and its options; name your own by its file.`)
    .argument('<name>', `the name of the ${kind}, or ./its-file.ts`)
    .option('--json', 'print the result as JSON, the options as JSON Schema')
    .action(async (name, { json = false }) => {
      const { name: own, summary, options } = await findPlugin(kind, name)
      if (json) return printJson({ name: own, summary, options: optionsSchema(options) })
      note(`${own}: ${summary}`)
      const described = describeNestedOptions(options)
      if (described.length === 0) return note('no options')
      printTable(
        ['option', 'type', 'default', 'meaning'],
        described.map((option) => [
          option.name,
          option.type,
          option.default ?? (option.required ? 'required' : ''),
          option.description,
        ]),
      )
    })
}
