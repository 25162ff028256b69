import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { findCsvProblem } from './csv-problem.ts'

/** Marks absent cells; a cell with exactly this text would be taken for absent. */
const absent = '\u0001absent\u0001'

/** A longer row is refused. */
const mostRowBytes = 16 << 20

/**
 * Yields the records of a CSV or TSV file whose first line names the fields; every value is a string. Reads
 * incrementally.
 */
export async function* readCsv(
  path: string,
  separator: ',' | '\t',
): AsyncGenerator<Record<string, string>, void, void> {
  const tempDir = join(tmpdir(), 'ot-agent-csv')
  await using sql = await SqlDatabase.open({ memoryMb: 512, threads: 1, tempDir })
  const options = (strict: boolean) => [
    sqlText(path),
    'header = true',
    'all_varchar = true',
    'skip = 0',
    `delim = ${sqlText(separator)}`,
    `quote = '"'`,
    `escape = '"'`,
    `comment = ''`,
    `strict_mode = ${strict}`,
    'null_padding = true',
    'parallel = false',
    `nullstr = ${sqlText(absent)}`,
    `max_line_size = ${mostRowBytes}`,
    `buffer_size = ${2 * mostRowBytes}`,
  ]
  const read = (strict: boolean) => `read_csv(${options(strict).join(', ')})`
  const rows = `SELECT * FROM ${read(false)}`
  try {
    const count = await countRows(sql, read)
    for await (const batch of sql.batches(rows, count))
      for (const row of batch)
        yield Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? '')]))
  } catch (error) {
    if (error instanceof UserError) throw error
    const [why = ''] = messageOf(error).split('\n')
    const problem = await findCsvProblem(path, separator)
    throw new UserError(
      `${path}: expected text in columns, got ${problem?.found ?? why.slice(0, 300)}`,
      problem?.hint ?? 'save it as UTF-8 with one header line and closed quotes',
    )
  }
}

/** Strict mode refuses quotes that are read well without it; without it, values that a row has too many are dropped. */
async function countRows(sql: SqlDatabase, read: (strict: boolean) => string): Promise<number> {
  try {
    return await sql.number(`SELECT count(*) FROM ${read(true)}`)
  } catch (error) {
    const [, expected, found] = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(messageOf(error)) ?? []
    if (Number(found) > Number(expected)) throw error
    return sql.number(`SELECT count(*) FROM ${read(false)}`)
  }
}
