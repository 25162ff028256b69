import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SinkInput, SqlSession } from '../../../core/whole-set.ts'
import { sqlText } from '../../../lib/duckdb.ts'
import type { Side } from './split.ts'

export const fileFormats = ['parquet', 'jsonl'] as const
export type FileFormat = (typeof fileFormats)[number]

/** A file of a dataset, its path relative to the dataset. */
export interface WrittenFile {
  readonly path: string
  readonly rows: number
}

interface Copy {
  readonly input: SinkInput
  readonly side: Side
  /** Selects rows: SQL over their columns and `row`. */
  readonly where: string
  /** Selects columns: an SQL select list. */
  readonly columns: string
  readonly format: FileFormat
  readonly outDir: string
  /** Below `outDir`. */
  readonly folder: string
  /**
   * Snappy for what every reader must be able to open, even the simplest; archives do not shrink anyway. Default zstd.
   */
  readonly compression?: 'zstd' | 'snappy'
  /** The approximate number of rows per file, before rows are left out. */
  readonly fileRows: number
}

/**
 * Writes rows in order as `FOLDER/SIDE-00000-of-0000N.parquet`, the Hub's dataset layout. Each input file is read once.
 */
export async function copyRows(sql: SqlSession, copy: Copy): Promise<readonly WrittenFile[]> {
  const { where, columns, format, side, folder, outDir, compression = 'zstd' } = copy
  const how = format === 'jsonl' ? 'FORMAT json' : `FORMAT parquet, COMPRESSION ${compression}, ROW_GROUP_SIZE 2048`
  const filled: { from: string; rows: number }[] = []
  for (const from of groupsOf(copy.input, copy.fileRows)) {
    const [{ rows = 0 } = {}] = await sql.rows(`SELECT count(*) AS rows FROM ${from} WHERE ${where}`)
    if (Number(rows) > 0) filled.push({ from, rows: Number(rows) })
  }
  // A dataset without rows is one empty file, which readers open like any other.
  if (filled.length === 0 && side === 'train') filled.push({ from: copy.input.view, rows: 0 })
  await mkdir(join(outDir, folder), { recursive: true })
  const written: WrittenFile[] = []
  for (const [index, { from, rows }] of filled.entries()) {
    const path = `${folder}/${side}-${five(index)}-of-${five(filled.length)}.${format}`
    await sql.run(`COPY (SELECT ${columns} FROM ${from} WHERE ${where}) TO ${sqlText(join(outDir, path))} (${how})`)
    written.push({ path, rows })
  }
  return written
}

/** Adjacent input files that are merged into one output file. */
function groupsOf({ parts }: SinkInput, fileRows: number): readonly string[] {
  const groups: { files: string[]; rows: number }[] = []
  for (const { select, rows } of parts) {
    const last = groups.at(-1)
    if (last && last.rows + rows <= fileRows) {
      last.files.push(select)
      last.rows += rows
    } else groups.push({ files: [select], rows })
  }
  return groups.map(({ files }) => `(${files.join(' UNION ALL ')})`)
}

export function rowsIn(files: readonly WrittenFile[]): number {
  return files.reduce((sum, { rows }) => sum + rows, 0)
}

function five(number: number): string {
  return String(number).padStart(5, '0')
}
