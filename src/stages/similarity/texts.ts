import type { SqlSession, WholeInput } from '../../core/stage.ts'

export type Judged = 'task' | 'trace'

/** What a row says, as SQL: a task's instruction, or all that was said in a trace. */
const textOf: Readonly<Record<Judged, string>> = {
  task: 'instruction',
  trace: 'array_to_string(list_transform(conversations, message -> message.content), chr(10))',
}

export interface RowText {
  readonly row: number
  readonly id: string
  readonly text: string
}

/** The text of every row, in order, a bounded number at a time. */
export async function* readTexts(sql: SqlSession, { view }: WholeInput, of: Judged): AsyncIterable<RowText> {
  let next = 0
  // A scan gives rows in their order; sorting them anyway would hold every text at once.
  for await (const { row, id, said } of sql.stream(`SELECT row, id, ${textOf[of]} AS said FROM ${view}`)) {
    if (Number(row) < next) throw new Error(`row ${row} of ${view} came after row ${next - 1}`)
    next = Number(row) + 1
    yield { row: Number(row), id: String(id), text: String(said ?? '') }
  }
}

/** What a stage found about one row of its only input. */
export interface Verdict {
  readonly row: number
  /** Null keeps the row where it is. */
  readonly reason: string | null
  readonly detail?: string | null
  readonly signals?: Readonly<Record<string, number>>
}

/** Writes verdicts down the way a recipe reads them; gives the name of the table. */
export async function saveVerdicts(
  sql: SqlSession,
  verdicts: AsyncIterable<Verdict> | Iterable<Verdict>,
): Promise<string> {
  await sql.run('DROP TABLE IF EXISTS verdicts')
  await sql.fill(
    'verdicts',
    { input: 'INTEGER', row: 'BIGINT', position: 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR', signals: 'VARCHAR' },
    lines(verdicts),
  )
  return 'verdicts'
}

async function* lines(verdicts: AsyncIterable<Verdict> | Iterable<Verdict>): AsyncIterable<readonly unknown[]> {
  for await (const { row, reason, detail = null, signals } of verdicts)
    yield [0, BigInt(row), BigInt(row), reason, detail, signals ? JSON.stringify(signals) : null]
}
