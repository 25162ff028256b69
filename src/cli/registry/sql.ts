import { Command } from '@commander-js/extra-typings'
import { csvLine, querySql } from '../../app/registry/query.ts'
import { visibleJson } from '../../lib/visible.ts'
import { printTable } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

type Row = Readonly<Record<string, unknown>>

/** `ot-agent registry sql`: runs one SELECT. */
export default () =>
  new Command()
    .description('Runs one SELECT on the tables of the registry and prints its rows. It is read-only.')
    .argument('<query>', 'the SELECT statement')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--csv', 'print CSV')
    .option('--json', 'print one JSON object per line')
    .action(async (query, { csv = false, json = false, ...place }) => {
      const all: Row[] = []
      let first = true
      await querySql(place, query, (rows) => {
        if (json) for (const row of rows) process.stdout.write(`${visibleJson(JSON.stringify(row))}\n`)
        else if (csv) {
          const header = Object.keys(rows[0] ?? {})
          if (first) process.stdout.write(csvLine(header))
          for (const row of rows) process.stdout.write(csvLine(header.map((name) => row[name])))
        } else all.push(...rows)
        first = false
      })
      if (json || csv) return
      const header = Object.keys(all[0] ?? {})
      if (all.length === 0) process.stdout.write('no rows\n')
      else
        printTable(
          header,
          all.map((row) => header.map((name) => String(row[name] ?? ''))),
        )
    })
