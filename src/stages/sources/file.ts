import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { RawRow } from '../../core/row.ts'
import type { Source } from '../../core/stage.ts'
import { readRecords } from '../../formats/records/read-records.ts'
import { isMissing } from '../../lib/files.ts'
import { toRow } from '../shared/records/to-row.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'JSON lines, a JSON list, CSV, TSV or parquet, recognized by the file extension; JSON lines may also end in `.gz`.',
    ),
  source: z.string().min(1).optional().describe("Name of the source (default: the file's name without its ending)."),
  id: z.string().min(1).optional().describe('The field that names a row; without it a row is named by its digest.'),
})

/** Rows of a file on this machine, in the file's order. */
export default definePlugin<Source<RawRow>, typeof options>({
  name: 'sources/file',
  summary: 'Rows of a JSONL, JSON, CSV, TSV or parquet file',
  options,
  make: ({ path: asked, source = basename(asked).replace(/\..*$/, ''), id }, context) => {
    const path = pathFrom(context, asked)
    return {
      kind: 'source',
      gives: 'raw',
      needs: () => [
        { kind: 'file', path, what: 'the rows of the source', provide: 'put the file there, or name another path' },
      ],
      async *rows(at) {
        await checkFile(path)
        const seen = new Map<string, number>()
        for await (const read of readRecords(path)) {
          at.signal.throwIfAborted()
          yield toRow(read, source, id ?? null, seen)
        }
      },
    }
  },
})

async function checkFile(path: string): Promise<void> {
  try {
    if ((await stat(path)).isFile()) return
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new UserError(`${path}: expected a file of rows, found nothing there`, 'check the path')
  }
  throw new UserError(`${path}: expected a file of rows, found a folder`, 'name one file')
}
