import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { packBenchmark, usualPackFile } from '../../app/datasets/pack-benchmark.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent benchmarks pack`: hashes a benchmark's texts, for recipes to decontaminate against. */
export default () =>
  new Command()
    .description(
      'Builds the decontamination pack of a benchmark: hashes of every sequence of N words in its tasks, never the text ' +
        'itself.\n' +
        'Recipes find it as benchmarks/NAME.pack. The same tasks give the same bytes.',
    )
    .argument('<benchmark>', 'a name from benchmarks list, a new name, or a .yaml file that describes a benchmark')
    .option(
      '--from <source>',
      'a folder of tasks, a .parquet, .jsonl, .json or .csv file, hf:org/name[@revision], harbor:name[@version] or git:URL[#path] (default: the one in the benchmark’s file)',
    )
    .option('-o, --out <file>', `file to write (default: ${usualPackFile})`)
    .option('--words <n>', 'length of the sequences in words; shorter overlaps are not found', runLength)
    .option('--id-column <name>', 'column with the id of a task (default: id, task_id, instance_id, ...)')
    .option('--text-column <name>', 'column with the text of a task (default: instruction, problem_statement, ...)')
    .option('--files <pattern...>', 'only these files of a folder, for example data/*.jsonl')
    .option('--registry <registry>', 'for harbor: sources, the registry.json to use: a file or a URL')
    .option(
      '--source <text>',
      'the origin of the tasks, as recorded in the pack (default: the source, without folders)',
    )
    .option('--json', 'print the result as JSON')
    .action(async (benchmark, { json, ...options }) => {
      const interrupt = interruptSignal()
      try {
        const packed = await packBenchmark({ benchmark, ...options }, { signal: interrupt.signal, notify: note })
        if (json) return printJson({ schema: 'benchmark-packed/1', ...packed })
        const { tasks, runs, words, bytes, file } = packed
        process.stdout.write(
          `packed ${tasks} tasks of ${packed.benchmark}: ${runs} sequences of ${words} words, ${megabytes(bytes)}: ${file}\n`,
        )
      } finally {
        interrupt.stop()
      }
    })

function runLength(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 8 || value > 50)
    throw new InvalidArgumentError(
      `expected 8 to 50 words, because shorter sequences can be guessed; got ${JSON.stringify(text)}`,
    )
  return value
}
