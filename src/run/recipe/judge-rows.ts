import type { OrderedDrop, SeenRow } from '../../core/ordered-filter.ts'
import type { OrderedFilter, StageContext } from '../../core/stage.ts'
import type { WholeInput } from '../../core/whole-set.ts'
import type { ColumnBatch, SqlDatabase } from '../../lib/duckdb.ts'
import type { LiveStage } from './resolve.ts'
import { naming } from './stage-failure.ts'

/** What a filter drops of some rows. */
export interface Judged {
  /** A parenthesized query that yields the same as a table from `findDrops`. */
  readonly drops: string
  /** Makes the filter report; called once its directory exists. */
  readonly end: () => Promise<void>
}

interface OrderedStage {
  readonly live: LiveStage
  readonly filter: OrderedFilter
  readonly at: StageContext
}

let tables = 0

/** Runs consecutive ordered filters in one scan: each sees the rows that those above it keep. */
export async function judgeRows(
  sql: SqlDatabase,
  input: WholeInput,
  stages: readonly LiveStage[],
  contextOf: (stage: LiveStage) => StageContext,
): Promise<readonly Judged[]> {
  const ordered = stages.map((live): OrderedStage => {
    if (live.stage.kind !== 'ordered-filter') throw new Error(`a ${live.stage.kind} does not decide in order`)
    return { live, filter: live.stage, at: contextOf(live) }
  })
  const judges = await Promise.all(
    ordered.map(({ live, filter, at }) => naming({ stages: [live] }, async () => filter.begin(input.rows, at))),
  )
  const table = `judged_${tables++}`
  const decide = (stage: number, row: SeenRow) => judges[stage]?.decide(row) ?? null
  await sql.fill(`${table}_rows`, dropColumns, findDrops(sql, input, ordered, decide))
  await nameDrops(sql, input.view, table)
  return judges.map((judge, stage) => ({
    drops: `(SELECT row, id, reason, detail FROM ${table} WHERE stage = ${stage})`,
    end: async () => judge.end?.(),
  }))
}

const dropColumns = { stage: 'INTEGER', row: 'BIGINT', reason: 'VARCHAR', detail: 'VARCHAR', twin: 'BIGINT' }

/** The dropped rows, each with the number of the filter that drops it. */
async function* findDrops(
  sql: SqlDatabase,
  { view, rows }: WholeInput,
  stages: readonly OrderedStage[],
  decide: (stage: number, row: SeenRow) => OrderedDrop | null,
): AsyncIterable<readonly unknown[]> {
  const expressions = [...new Set(stages.map(({ filter }) => filter.looksAt))]
  const looks = expressions.map((_, i) => new Look(i + 2))
  const lookOf = stages.map(({ filter }) => looks[expressions.indexOf(filter.looksAt)])
  // A scan returns rows in order; sorting them anyway would hold every text in memory at once.
  const select = `SELECT row, id, ${expressions.map((each, i) => `(${each}) AS looked_${i}`).join(', ')} FROM ${view}`
  let next = 0
  for await (const batch of sql.columns(select, rows)) {
    for (const { at } of stages) at.signal.throwIfAborted()
    for (let place = 0; place < batch.rows; place++) {
      const row = batch.number(0, place)
      if (row < next) throw new Error(`row ${row} of ${view} came after row ${next - 1}`)
      next = row + 1
      for (const look of looks) look.move(batch, place, row)
      for (const [stage, look] of lookOf.entries()) {
        const drop = look && decide(stage, look)
        if (!drop) continue
        yield [stage, BigInt(row), drop.reason, drop.detail, drop.twin === undefined ? null : BigInt(drop.twin)]
        break
      }
    }
  }
}

/**
 * Presents one row after another to filters that read the same columns. Columns that none of them asks for are not
 * read.
 */
class Look implements SeenRow {
  row = 0
  private batch: ColumnBatch | null = null
  private place = 0
  private read: Uint8Array | null = null

  constructor(private readonly column: number) {}

  move(batch: ColumnBatch, place: number, row: number): void {
    this.batch = batch
    this.place = place
    this.row = row
    this.read = null
  }

  get id(): string {
    return this.batch?.text(1, this.place) ?? ''
  }

  get bytes(): Uint8Array {
    this.read ??= this.batch?.bytes(this.column, this.place) ?? new Uint8Array()
    return this.read
  }
}

/** Replaces row numbers with ids. */
async function nameDrops(sql: SqlDatabase, view: string, table: string): Promise<void> {
  const found = `${table}_rows`
  await sql.run(`
    CREATE TABLE ${table} AS
    WITH named AS MATERIALIZED (
      SELECT row, id FROM ${view} WHERE row IN (SELECT row FROM ${found} UNION ALL SELECT twin FROM ${found} WHERE twin IS NOT NULL))
    SELECT d.stage, d.row, n.id, d.reason, d.detail || CASE WHEN d.twin IS NULL THEN '' ELSE t.id END AS detail
    FROM ${found} d JOIN named n ON n.row = d.row LEFT JOIN named t ON t.row = d.twin ORDER BY d.row`)
  await sql.run(`DROP TABLE ${found}`)
}
