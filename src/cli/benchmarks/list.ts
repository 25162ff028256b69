import { Command } from '@commander-js/extra-typings'
import { type ListedBenchmark, listBenchmarks } from '../../app/datasets/list-benchmarks.ts'
import { printJson, printTable } from '../output.ts'

/** `ot-agent benchmarks list`: lists known benchmarks and the packs on this machine. */
export default () =>
  new Command()
    .description(
      'Lists the known benchmarks: how many tasks each has, whether its decontamination pack is here, and whether its tasks ' +
        'are on this machine or where to fetch them from.\n' +
        'Put your own benchmark files into ./benchmarks.',
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json }) => {
      const benchmarks = await listBenchmarks()
      if (json) return printJson({ schema: 'benchmarks/1', benchmarks })
      printTable(
        ['benchmark', 'tasks', 'pack', 'folder', 'source', 'description'],
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
