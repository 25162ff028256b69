import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import { JsonRows } from './json-rows.ts'
import { fileParts, ParquetRows } from './parquet-rows.ts'
import type { RowSource } from './row-source.ts'

const parquet = /\.parquet$/i
const json = /\.(jsonl|ndjson)$/i

/** The files that a path stands for as a dataset: itself, or those of a folder or of its folder `data`. None when it is no dataset. */
export async function datasetFiles(path: string): Promise<readonly string[]> {
  const kind = await kindAt(path)
  if (kind === 'file') return parquet.test(path) || json.test(path) ? [path] : []
  if (kind !== 'dir') return []
  for (const dir of [join(path, 'data'), path]) {
    if ((await kindAt(dir)) !== 'dir') continue
    const names = (await readdir(dir)).filter((name) => !name.startsWith('.')).sort()
    // The same rows may lie there in both formats.
    const chosen = [parquet, json].map((pattern) => names.filter((name) => pattern.test(name)))
    const files = chosen.find((each) => each.length > 0)
    if (files) return files.map((name) => join(dir, name))
  }
  return []
}

/** Opens a dataset of anyone: parquet or JSON lines, a file or a folder of files. */
export async function openRows(path: string): Promise<RowSource> {
  const files = await datasetFiles(path)
  const [first] = files
  if (first !== undefined) return parquet.test(first) ? new ParquetRows(await fileParts(files)) : new JsonRows(files)
  const kind = await kindAt(path)
  throw new UserError(
    `${path}: expected a dataset, got ${kind === 'none' ? 'nothing there' : kind === 'dir' ? 'a folder without one' : 'another file'}`,
    'name a file that ends in .parquet or .jsonl, or a folder of such files',
  )
}
