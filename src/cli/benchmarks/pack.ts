import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { packBenchmark, usualPackFile } from '../../app/datasets/pack-benchmark.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'

/** `ot-agent benchmarks pack`: the texts of a benchmark become hashes that recipes keep away from. */
export default () =>
  new Command()
    .description(
      'Builds the decontamination pack of a benchmark: hashes of every run of words of its tasks, never the text itself.\n' +
        'Recipes find it as benchmarks/NAME.pack. The same tasks give the same bytes.',
    )
    .argument('<benchmark>', 'a name that benchmarks list knows, a new name, or a .yaml file that describes one')
    .option(
      '--from <source>',
      'a folder of tasks, a .parquet, .jsonl, .json or .csv file, hf:org/name[@revision], harbor:name[@version] or git:URL[#path] (default: what the benchmark names)',
    )
    .option('-o, --out <file>', `file to write (default: ${usualPackFile})`)
    .option('--words <n>', 'words of a run; what shares fewer in a row is not found', runLength)
    .option('--id-column <name>', 'column of rows that names a task (default: id, task_id, instance_id, ...)')
    .option('--text-column <name>', 'column of rows with the text (default: instruction, problem_statement, ...)')
    .option('--files <pattern...>', 'only these files of a folder, for example data/*.jsonl')
    .option('--registry <registry>', 'registry.json for harbor: sources, a file or an address')
    .option('--source <text>', 'what the pack says of where its tasks came from (default: the source, without folders)')
    .option('--json', 'print the result as JSON')
    .action(async (benchmark, { json, ...options }) => {
      const interrupt = interruptSignal()
      try {
        const packed = await packBenchmark({ benchmark, ...options }, { signal: interrupt.signal, notify: note })
        if (json) return printJson({ schema: 'benchmark-packed/1', ...packed })
        const { tasks, runs, words, bytes, file } = packed
        process.stdout.write(
          `packed ${tasks} tasks of ${packed.benchmark}: ${runs} runs of ${words} words, ${megabytes(bytes)}: ${file}\n`,
        )
      } finally {
        interrupt.stop()
      }
    })

function runLength(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 8 || value > 50)
    throw new InvalidArgumentError(
      `expected 8 to 50 words, since shorter runs can be guessed; got ${JSON.stringify(text)}`,
    )
  return value
}
