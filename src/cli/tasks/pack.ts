import { Command } from '@commander-js/extra-typings'
import { packTaskFolder } from '../../app/tasks/task-files.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent tasks pack`: packs a folder of tasks into one parquet file. */
export default () =>
  new Command()
    .description(
      'Packs a task or a folder of tasks into a parquet file with the columns path and task_binary (a tar.gz of each task).\n' +
        'The same tasks give the same bytes. A directory with an invalid task.toml is skipped; the exit code is then 3.',
    )
    .argument('<path>', 'a task, or a folder of tasks')
    .requiredOption('-o, --out <file>', 'parquet file to write; an existing one is replaced')
    .option('--json', 'print the result as JSON')
    .action(async (path, { out, json }) => {
      const tick = makeTicker()
      const interrupt = interruptSignal()
      try {
        const packed = await packTaskFolder(
          { path, out },
          {
            signal: interrupt.signal,
            onLeftOut: ({ dir, reason }) => note(`skipped ${oneLine(dir)}: ${oneLine(reason)}`),
            onProgress: ({ tasks, bytes }, total) => tick(`packed ${tasks} of ${total} tasks, ${megabytes(bytes)}`),
          },
        )
        if (json) printJson({ file: out, ...packed })
        else process.stdout.write(`packed ${packed.tasks} tasks, ${megabytes(packed.bytes)}, into ${out}\n`)
        if (packed.leftOut.length > 0) process.exitCode = 3
      } finally {
        interrupt.stop()
      }
    })
