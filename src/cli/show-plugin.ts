import { Command } from '@commander-js/extra-typings'
import { findPlugin, listPlugins, type PluginKind } from '../app/describe-plugins.ts'
import { describeOptions, optionsSchema } from '../lib/describe-options.ts'
import { note, printJson, printTable } from './output.ts'

/** A command that tells what a kind of plug-in is for and takes; without a name, it lists all of them. */
export function showPlugin(kind: PluginKind) {
  return new Command()
    .description(`Shows the options of one ${kind}, or lists all. Your own is given by its file.`)
    .argument('[name]', `the name of the ${kind}, or ./its-file.ts`)
    .option('--json', 'print the result as JSON, the options as JSON Schema')
    .action(async (name, { json = false }) => {
      if (name === undefined) return list(kind, json)
      const { name: own, summary, options } = await findPlugin(kind, name)
      if (json) return printJson({ name: own, summary, options: optionsSchema(options) })
      note(`${own}: ${summary}`)
      const described = describeOptions(options)
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

async function list(kind: PluginKind, json: boolean): Promise<void> {
  const rows = await listPlugins(kind)
  if (json) return printJson(rows)
  printTable(
    [kind, 'what it does'],
    rows.map(({ name, summary }) => [name, summary]),
  )
}
