import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { definePlugin, pathFrom } from '../../core/plugin.ts'
import type { RawRow } from '../../core/row.ts'
import type { Source } from '../../core/stage.ts'
import { digestFiles, inputFiles, recordFiles } from '../../formats/input-files.ts'
import { type FileRow, readAllRecords } from '../../formats/records/read-records.ts'
import { nearest } from '../../lib/nearest.ts'
import { nameOfInput, needsOfFiles } from '../shared/records/needs-of-files.ts'
import { toRow } from '../shared/records/to-row.ts'

const options = z.strictObject({
  path: z
    .string()
    .min(1)
    .describe(
      'A file, a folder, or a pattern such as `rows/*.csv`: JSON lines, a JSON list, CSV, TSV, parquet or XLSX, recognized by the file extension; JSON lines may also end in `.gz`. Several files are read in the order of their names.',
    ),
  source: z
    .string()
    .min(1)
    .optional()
    .describe('Name of the source (default: the name of the file or folder, without its ending).'),
  id: z.string().min(1).optional().describe('The field that names a row; without it a row is named by its digest.'),
})

/** Rows of local files, in order of file name and position in the file. */
export default definePlugin<Source<RawRow>, typeof options>({
  name: 'sources/file',
  summary: 'Rows of JSONL, JSON, CSV, TSV, parquet or XLSX files',
  options,
  make: ({ path: asked, source = nameOfInput(asked), id }, context) => {
    const path = pathFrom(context, asked)
    return {
      kind: 'source',
      gives: 'raw',
      needs: () => needsOfFiles(path, recordFiles, 'the rows of the source'),
      fingerprint: async () => digestFiles(await inputFiles(path, recordFiles)),
      async *rows(at) {
        const seen = new Map<string, number>()
        for await (const read of readAllRecords(await inputFiles(path, recordFiles))) {
          at.signal.throwIfAborted()
          if (id !== undefined && isTable(asked)) expectColumn(read, id, path)
          yield toRow(read, source, id ?? null, seen)
        }
      },
    }
  },
})

/** Whether all rows have the same columns; JSON records omit empty ones. */
function isTable(path: string): boolean {
  return /\.(csv|tsv|parquet|xlsx)$/i.test(path)
}

/** A table from elsewhere may have thousands. */
const mostListed = 20

function expectColumn(read: FileRow, id: string, path: string): void {
  if (!('fields' in read) || Object.hasOwn(read.fields, id)) return
  const columns = Object.keys(read.fields)
  const near = nearest(id, columns)
  const [only = ''] = columns
  const separator = columns.length === 1 ? [';', '|', '\t'].find((each) => only.includes(each)) : undefined
  const listed = columns.slice(0, mostListed).map((name) => JSON.stringify(name))
  const others = columns.length > mostListed ? ` and ${columns.length - mostListed} more` : ''
  throw new UserError(
    `${path}: expected the column ${JSON.stringify(id)} to name the rows, found ${listed.join(', ')}${others}`,
    separator !== undefined
      ? `columns are separated by ${path.endsWith('.tsv') ? 'tabs' : 'commas'}, not by ${JSON.stringify(separator)}: convert the file`
      : near === null
        ? 'set id to one of them, or remove id'
        : `did you mean ${JSON.stringify(near)}?`,
  )
}
