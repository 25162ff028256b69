import { basename, resolve, sep } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { explainDisk } from '../../app/disk-errors.ts'
import { UserError } from '../../core/errors.ts'
import { findTasks } from '../../formats/harbor-task/find.ts'
import { packTasks } from '../../formats/task-parquet/pack-tasks.ts'
import { kindAt } from '../../lib/files.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'

/** `ot-agent tasks pack`: a folder of tasks becomes one parquet file. */
export default () =>
  new Command()
    .description(
      'Packs a task or a folder of tasks into a parquet file with the columns path and task_binary (a tar.gz of each task).\n' +
        'The same tasks give the same bytes. A directory with a task.toml that is not a valid task is skipped; the exit code is then 3.',
    )
    .argument('<path>', 'a task, or a folder of tasks')
    .requiredOption('-o, --out <file>', 'parquet file to write; an existing one is replaced')
    .option('--json', 'print the result as JSON')
    .action(async (path, { out, json }) => {
      const { tasks, broken } = await findTasks(path, { allowNoTests: true })
      await checkOut(out, tasks)
      for (const { dir, reason } of broken) note(`left out ${oneLine(dir)}: ${oneLine(reason)}`)
      const [first] = broken
      if (first && tasks.length === 0)
        throw new UserError(`${first.dir}: ${first.reason}`, 'there is no other task to pack')
      const packed = await pack(tasks, out)
      const leftOut = broken.map(({ dir, reason }) => ({ dir, reason }))
      if (json) printJson({ file: out, ...packed, leftOut })
      else process.stdout.write(`packed ${packed.tasks} tasks, ${megabytes(packed.bytes)}, into ${out}\n`)
      if (first) process.exitCode = 3
    })

async function pack(tasks: readonly string[], out: string) {
  const tick = makeTicker()
  const interrupt = interruptSignal()
  try {
    return await explainDisk(out, () =>
      packTasks(
        tasks.map((dir) => ({ path: basename(dir), dir })),
        out,
        {
          signal: interrupt.signal,
          onProgress: ({ tasks: done, bytes }) => tick(`packed ${done} of ${tasks.length} tasks, ${megabytes(bytes)}`),
        },
      ),
    )
  } finally {
    interrupt.stop()
  }
}

/** The file must not be a directory or a device, nor lie in a task, which would pack the file into itself. */
async function checkOut(out: string, tasks: readonly string[]): Promise<void> {
  const there = await explainDisk(out, () => kindAt(out))
  if (there === 'dir') {
    throw new UserError(`--out: expected a file, got the directory ${out}`, 'name a file in it, such as tasks.parquet')
  }
  // It would be replaced, which no device and no pipe is for.
  if (there === 'other') throw new UserError(`--out: expected a file, got ${out}, which is none`, 'name a file')
  const inside = tasks.find((task) => resolve(out).startsWith(task + sep))
  if (inside) throw new UserError(`--out: ${out} lies in the task ${inside}`, 'write the file somewhere else')
}
