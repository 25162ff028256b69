import { Command } from '@commander-js/extra-typings'
import { type ListedBenchmark, listBenchmarks } from '../../app/datasets/list-benchmarks.ts'
import { printJson, printTable } from '../output.ts'

/** `ot-agent benchmarks list`: what is known, and which packs are here. */
export default () =>
  new Command()
    .description(
      'Lists the benchmarks that there is a file for: how many tasks each has, whether its decontamination pack is here, where its tasks\n' +
        'are on this machine or that they must be fetched, and where from. Files of your own go into ./benchmarks.',
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json }) => {
      const benchmarks = await listBenchmarks()
      if (json) return printJson({ schema: 'benchmarks/1', benchmarks })
      printTable(
        ['benchmark', 'tasks', 'pack', 'tasks in', 'tasks from', 'what it is'],
        benchmarks.map((row) => [
          ...[row.name, String(row.tasks), packCell(row), row.tasksIn ?? 'not fetched', row.tasksFrom ?? ''],
          row.title,
        ]),
      )
    })

function packCell({ name, pack, tasks }: ListedBenchmark): string {
  if (pack === null) return 'missing'
  if (pack.benchmark !== name) return `in ${pack.benchmark}`
  return pack.tasks === null || pack.tasks === tasks ? 'here' : `here, ${pack.tasks} tasks`
}
