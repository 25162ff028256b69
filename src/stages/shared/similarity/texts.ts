import type { SqlSession, WholeInput } from '../../../core/whole-set.ts'

/** The kind of rows whose texts are compared. */
export type ComparedRow = 'task' | 'trace'

/** What a row says, as SQL: a task's instruction, or all that was said in a trace. */
const textOf: Readonly<Record<ComparedRow, string>> = {
  task: 'instruction',
  trace: 'array_to_string(list_transform(conversations, message -> message.content), chr(10))',
}

export interface RowText {
  readonly row: number
  readonly id: string
  /** In UTF-8. */
  readonly text: Uint8Array
}

/** A row that a filter drops, and why. */
export interface TextDrop {
  readonly reason: string
  readonly detail: string
}

/** Decides about the text of every row, in order, a bounded number at a time; gives the name of a table of the rows that go. */
export async function dropByText(
  sql: SqlSession,
  { view, rows: count }: WholeInput,
  of: ComparedRow,
  decide: (row: RowText) => TextDrop | null,
): Promise<string> {
  const drops: unknown[][] = []
  let next = 0
  // A scan gives rows in their order; sorting them anyway would hold every text at once.
  for await (const rows of sql.batches(`SELECT row, id, encode(${textOf[of]}) AS said FROM ${view}`, count))
    for (const { row, id, said } of rows) {
      if (Number(row) < next) throw new Error(`row ${row} of ${view} came after row ${next - 1}`)
      next = Number(row) + 1
      const text = said instanceof Uint8Array ? said : new Uint8Array()
      const drop = decide({ row: Number(row), id: String(id), text })
      if (drop) drops.push([row, id, drop.reason, drop.detail])
    }
  await sql.run('DROP TABLE IF EXISTS drops')
  await sql.fill('drops', { row: 'BIGINT', id: 'VARCHAR', reason: 'VARCHAR', detail: 'VARCHAR' }, drops)
  return 'drops'
}
