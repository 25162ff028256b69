import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { TaskRow } from '../../core/row.ts'
import type { Source } from '../../core/stage.ts'
import { openTaskRows, type TaskRows } from '../../formats/task-parquet/read-rows.ts'
import { parseTaskPath } from '../../formats/task-parquet/task-path.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { archivedTaskRow, tasksAtOnce } from '../shared/task-row.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'A parquet file with the columns `path` and `task_binary`, as `ot-agent tasks pack` and published sets have it.',
    ),
  source: z.string().min(1).optional().describe("What mixes know it by (default: the file's name without its ending)."),
})

/** Every task of a parquet file, in the file's order. */
export default definePlugin<Source<TaskRow>, typeof options>({
  name: 'sources/task-parquet',
  summary: 'Harbor tasks packed in a parquet file',
  options,
  make: ({ path: asked, source = basename(asked).replace(/\..*$/, '') }, context) => {
    const path = pathFrom(context, asked)
    return {
      kind: 'source',
      gives: 'task',
      needs: () => [
        {
          kind: 'file',
          path,
          what: 'the packed tasks of the source',
          provide: 'put the file there; ot-agent tasks pack DIR writes one',
        },
      ],
      expect: async () => {
        await using rows = await openTaskRows(path)
        return { rows: rows.rows }
      },
      fingerprint: async () => {
        await using _ = await openTaskRows(path)
        const hash = createHash('sha256')
        await pipeline(createReadStream(path), hash)
        return hash.digest('hex')
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
