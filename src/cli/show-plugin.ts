import { Command } from '@commander-js/extra-typings'
import { UserError } from '../core/errors.ts'
import type { Plugin } from '../core/plugin.ts'
import { describeOptions, optionsSchema } from '../lib/describe-options.ts'
import { nearest } from '../lib/nearest.ts'
import { loadImported } from '../plugins/user-modules/load-imported.ts'
import { isPlugin } from '../plugins/user-modules/make-imported.ts'
import { note, printJson, printTable } from './output.ts'

type Table = Readonly<Record<string, () => Promise<{ readonly default: Plugin<unknown> }>>>

/** A command that tells what a kind of plug-in is for and takes; without a name, it lists all of them. */
export function showPlugin(kind: string, table: Table) {
  return new Command()
    .description(`Shows the options of one ${kind}, or lists all. Your own is given by its file.`)
    .argument('[name]', `the name of the ${kind}, or ./its-file.ts`)
    .option('--json', 'print the result as JSON, the options as JSON Schema')
    .action(async (name, { json = false }) => {
      if (name === undefined) return list(kind, table, json)
      const { name: own, summary, options } = await find(kind, table, name)
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

async function list(kind: string, table: Table, json: boolean): Promise<void> {
  const rows = await Promise.all(
    Object.entries(table).map(async ([name, load]) => ({ name, summary: (await load()).default.summary })),
  )
  if (json) return printJson(rows)
  printTable(
    [kind, 'what it does'],
    rows.map(({ name, summary }) => [name, summary]),
  )
}

async function find(kind: string, table: Table, name: string): Promise<Plugin<unknown>> {
  const load = Object.hasOwn(table, name) ? table[name] : undefined
  if (load) return (await load()).default
  if (!/^(?:\.{0,2}\/|npm:)/.test(name)) {
    const near = nearest(name, Object.keys(table))
    throw new UserError(
      `unknown ${kind} ${JSON.stringify(name)}`,
      near === null ? `known: ${Object.keys(table).sort().join(', ')}` : `did you mean ${near}?`,
    )
  }
  return loadPluginFile(name)
}

/** The plug-in that a file exports. */
export async function loadPluginFile(path: string): Promise<Plugin<unknown>> {
  const { value, where } = await loadImported(path)
  if (isPlugin(value)) return value
  throw new UserError(
    `${where}: expected a plug-in, whose options can be shown`,
    'export default definePlugin({ ... })',
  )
}
