import { Command, Option } from '@commander-js/extra-typings'
import { type UnpackedTasks, unpackTaskFile } from '../../app/tasks/task-files.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { interruptSignal } from '../interrupt.ts'
import { printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent tasks unpack`: unpacks a parquet file into a folder of tasks. */
export default () =>
  new Command()
    .description(
      'Unpacks tasks from a parquet file with the columns path and task_binary, written by this program or another.\n' +
        'All tasks are unpacked and checked before any is put in place. If a row is bad, the error names it and nothing is ' +
        'written.',
    )
    .argument('<file>', 'parquet file of tasks')
    .requiredOption('-o, --out <dir>', 'folder to write the tasks to; created if missing')
    .addOption(
      new Option('--on-exist <what>', 'what to do with a task that already exists')
        .choices(['error', 'skip', 'overwrite'] as const)
        .default('error' as const),
    )
    .option('--json', 'print the result as JSON')
    .action(async (file, { out, onExist, json }) => {
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const onProgress = (done: number, total: number) => tick(`unpacked ${done} of ${total} tasks`)
        const unpacked = await unpackTaskFile({ file, out, onExist }, { signal: interrupt.signal, onProgress })
        if (json) printJson({ dir: out, ...unpacked })
        else process.stdout.write(`${sentence(unpacked)}, into ${out}\n`)
      } finally {
        interrupt.stop()
      }
    })

function sentence({ unpacked, replaced, skipped, bytes }: UnpackedTasks): string {
  const notes = [replaced > 0 ? `${replaced} replaced` : '', skipped > 0 ? `${skipped} skipped` : ''].filter(Boolean)
  return `unpacked ${unpacked} tasks${notes.length > 0 ? ` (${notes.join(', ')})` : ''}, ${megabytes(bytes)}`
}
