import { Command } from '@commander-js/extra-typings'
import { explainRun } from '../../app/recipe/read-run.ts'
import { printJson } from '../output.ts'
import { printCounts, printSources } from './counts-table.ts'

/** `ot-agent recipe explain`: how many rows each stage kept, of which source, and why the others went. */
export default () =>
  new Command()
    .description(
      'Shows how many rows each stage of a finished run kept, why the others went, and what is left of each source.',
    )
    .argument('<dir>', 'the directory of a run, for example runs/demo')
    .option('--json', 'print the result as JSON')
    .action(async (dir, { json }) => {
      const report = await explainRun(dir)
      if (json) return printJson(report)
      printCounts(report.stages)
      printSources(report.steps)
      for (const { dir: out, counts } of report.outputs)
        process.stdout.write(
          `${out}: ${Object.entries(counts)
            .map(([name, count]) => `${name} ${count}`)
            .join(', ')}\n`,
        )
    })
