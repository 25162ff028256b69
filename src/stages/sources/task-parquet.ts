import { z } from 'zod'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Source } from '../../core/stage.ts'
import { digestFiles, inputFiles, packedTaskFiles } from '../../formats/input-files.ts'
import { openTaskRows, type TaskRows } from '../../formats/task-parquet/read-rows.ts'
import { parseTaskPath } from '../../formats/task-parquet/task-path.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { nameOfInput, needsOfFiles } from '../shared/records/needs-of-files.ts'
import { archivedTaskRow, tasksAtOnce } from '../shared/task-row.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'A parquet file with the columns `path` and `task_binary`, as `ot-agent tasks pack` and published sets have it, a folder of such files, or a pattern.',
    ),
  source: z
    .string()
    .min(1)
    .optional()
    .describe('What mixes know it by (default: the name of the file or folder, without its ending).'),
})

/** Every task in parquet files, in order of file name and position in the file. */
export default definePlugin<Source<TaskRow>, typeof options>({
  name: 'sources/task-parquet',
  summary: 'Harbor tasks packed in parquet files',
  options,
  make: ({ path: asked, source = nameOfInput(asked) }, context) => {
    const path = pathFrom(context, asked)
    return {
      kind: 'source',
      gives: 'task',
      needs: () => needsOfFiles(path, packedTaskFiles, 'the packed tasks of the source'),
      expect: async () => {
        await using rows = await openTaskRows(path)
        return { rows: rows.rows }
      },
      fingerprint: async () => {
        await using _ = await openTaskRows(path)
        return digestFiles(await inputFiles(path, packedTaskFiles))
      },
      async *rows(at) {
        at.signal.throwIfAborted()
        await using rows = await openTaskRows(path)
        const pairs = pairsOf(rows, path)
        const toRow = ({ name, archive }: Pair) => archivedTaskRow(archive, { name, source, workDir: at.workDir })
        for await (const row of mapInOrder(pairs, tasksAtOnce, toRow)) {
          at.signal.throwIfAborted()
          yield row
        }
      },
    }
  },
})

interface Pair {
  readonly name: string
  readonly archive: Uint8Array
}

async function* pairsOf(rows: TaskRows, file: string): AsyncGenerator<Pair, void, void> {
  const paths = rows.paths()
  let row = 0
  for await (const archive of rows.archives()) {
    const { value } = await paths.next()
    yield { name: parseTaskPath(value ?? '', `${file}: row ${row++}`), archive }
  }
}
