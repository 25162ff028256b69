import { Command } from '@commander-js/extra-typings'
import { fetchBenchmark } from '../../app/datasets/fetch-benchmark.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent benchmarks fetch`: fetches a benchmark's tasks into a folder. */
export default () =>
  new Command()
    .description(
      'Fetches the tasks of a benchmark into a folder, from the first reachable place that the benchmark’s file lists. The ' +
        'folder appears only once it is complete. Exits with 3 when no place can be reached.\n' +
        'Never train on the tasks it fetches.',
    )
    .argument('<benchmark>', 'a name from benchmarks list')
    .option('-o, --out <dir>', 'folder to create (default: the name of the benchmark)')
    .option('--from <source>', 'another place: hf:org/name[@revision], harbor:name[@version] or git:URL[#path]')
    .option('--registry <registry>', 'for harbor: sources, the registry.json to use: a file or a URL')
    .option('--json', 'print the result as JSON')
    .action(async (benchmark, { json, ...options }) => {
      const interrupt = interruptSignal()
      try {
        const fetched = await fetchBenchmark({ benchmark, ...options }, { signal: interrupt.signal, notify: note })
        if (json) return printJson({ schema: 'benchmark-fetched/1', ...fetched })
        const { tasks, files, from } = fetched
        const what = tasks > 0 ? `${tasks} tasks` : `${files} files of rows, which agents cannot run,`
        process.stdout.write(
          `fetched ${what} of ${fetched.benchmark} from ${from}: ${options.out ?? fetched.benchmark}\n`,
        )
      } finally {
        interrupt.stop()
      }
    })
