import type { SqlSession } from '../../../core/whole-set.ts'

/** The decision on a row of an input: its position among the chosen, or the reason it is dropped. */
export interface Chosen {
  /** Default: the only one. */
  readonly input?: number
  readonly row: number
  /** Null for a dropped row. */
  readonly position: number | null
  readonly reason?: string | null
  readonly detail?: string
  readonly signals?: Readonly<Record<string, number>>
}

/** Stores a choice in the form a recipe reads; returns the name of the table. */
export async function saveChoice(sql: SqlSession, chosen: Iterable<Chosen>): Promise<string> {
  await sql.run('DROP TABLE IF EXISTS chosen')
  await sql.fill(
    'chosen',
    { input: 'INTEGER', row: 'BIGINT', position: 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR', signals: 'VARCHAR' },
    lines(chosen),
  )
  return 'chosen'
}

function* lines(chosen: Iterable<Chosen>): Iterable<readonly unknown[]> {
  for (const { input = 0, row, position, reason = null, detail = null, signals } of chosen)
    yield [
      ...[input, BigInt(row), position === null ? null : BigInt(position), reason, detail],
      signals ? JSON.stringify(signals) : null,
    ]
}

/** The numbers of the rows of an input, in order. */
export async function rowNumbers(sql: SqlSession, view: string): Promise<readonly number[]> {
  return (await sql.rows(`SELECT row FROM ${view} ORDER BY row`)).map(({ row }) => Number(row))
}
