import { Command } from '@commander-js/extra-typings'
import { listPlugins } from '../../app/describe-plugins.ts'
import { copyable } from '../copyable.ts'
import { note, printJson, printTable } from '../output.ts'

/** `ot-agent agents list`: the agents that have a name. */
export default () =>
  new Command()
    .description('Lists the agents that come with the program; your own are given by their file.')
    .option('--json', 'print the result as JSON')
    .action(async ({ json = false }) => {
      const rows = await listPlugins('agent')
      if (json) return printJson({ agents: rows })
      printTable(
        ['agent', 'what it does'],
        rows.map(({ name, summary }) => [name, summary]),
      )
      note(copyable('one of your own: ot-agent agents init my-agent, then --agent-import-path ./my-agent.ts'))
    })
