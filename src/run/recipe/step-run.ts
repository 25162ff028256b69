import type { StageCount } from '../../core/recipe.ts'
import { type AnyStage, type Dropped, isDropped, type Stage, type StageContext } from '../../core/stage.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { decodeRow, encodeRow, rowColumns, type StoredKind } from '../../store/rows/columns.ts'
import { selectRows } from '../../store/rows/shard-sql.ts'
import type { Shard } from '../../store/rows/shards.ts'
import type { LiveStage } from './resolve.ts'

/** Everything a step needs beside its stages. */
export interface StepContext {
  readonly sql: SqlDatabase
  contextOf(stage: LiveStage): StageContext
}

/** A row that was dropped, as it is kept. */
export interface Reject {
  readonly id: string | null
  readonly stage: string
  readonly reason: string
  readonly detail: string | null
}

const rejectColumns = { id: 'VARCHAR', stage: 'VARCHAR', reason: 'VARCHAR', detail: 'VARCHAR' }
/** What stages pass on is read again soon: written fast before it is written small. */
const parquet = '(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 2048)'

/** Counts what goes into and comes out of one stage. */
export class StageTally {
  private taken = 0
  private given = 0
  private readonly drops = new Map<string, number>()
  constructor(
    private readonly id: string,
    private readonly use: string,
  ) {}
  take(): void {
    this.taken++
  }
  give(): void {
    this.given++
  }
  drop(reason: string): void {
    this.drops.set(reason, (this.drops.get(reason) ?? 0) + 1)
  }
  count(): StageCount {
    const drops = Object.fromEntries([...this.drops].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { id: this.id, use: this.use, taken: this.taken, given: this.given, drops }
  }
}

/** The rows of a shard, in order. */
export async function* readRows(sql: SqlDatabase, kind: StoredKind, shard: Shard): AsyncIterable<object> {
  for await (const records of sql.batches(selectRows(shard), shard.rows))
    for (const record of records) yield decodeRow(kind, record)
}

/** Puts rows through stages one after the other; what they drop goes to `rejects`. */
export function throughStages(
  rows: AsyncIterable<object>,
  stages: readonly LiveStage[],
  at: StepContext,
  rejects: Reject[],
  tallies: StageTally[],
): AsyncIterable<object> {
  return stages.reduce((flow, live) => {
    const tally = new StageTally(live.id, live.use)
    tallies.push(tally)
    return throughStage(flow, live, at.contextOf(live), rejects, tally)
  }, rows)
}

async function* throughStage(
  rows: AsyncIterable<object>,
  live: LiveStage,
  at: StageContext,
  rejects: Reject[],
  tally: StageTally,
): AsyncIterable<object> {
  const seen = counted(rows, tally)
  for await (const row of streamOf(live.stage).run(seen, at)) {
    at.signal.throwIfAborted()
    if (!isDropped(row)) {
      tally.give()
      yield row as object
      continue
    }
    tally.drop(row.drop)
    rejects.push(rejectOf(row, live.id))
  }
}

async function* counted(rows: AsyncIterable<object>, tally: StageTally): AsyncIterable<object> {
  for await (const row of rows) {
    tally.take()
    yield row
  }
}

function streamOf(stage: AnyStage): Stage {
  if (!('run' in stage)) throw new Error('only streams stand in a stream')
  return stage
}

function rejectOf({ drop, detail, id }: Dropped, stage: string): Reject {
  return { id: id ?? null, stage, reason: drop, detail: detail ?? null }
}

let tables = 0

/** Writes rows as a parquet file; gives how many there were. */
export async function writeRows(
  sql: SqlDatabase,
  kind: StoredKind,
  rows: AsyncIterable<object>,
  file: string,
): Promise<number> {
  let count = 0
  await writeTable(
    sql,
    rowColumns[kind],
    encoded(kind, rows, () => count++),
    file,
  )
  return count
}

async function* encoded(kind: StoredKind, rows: AsyncIterable<object>, tick: () => void): AsyncIterable<unknown[]> {
  for await (const row of rows) {
    tick()
    yield encodeRow(kind, row)
  }
}

/** Writes what was dropped as a parquet file. */
export async function writeRejects(sql: SqlDatabase, rejects: readonly Reject[], file: string): Promise<void> {
  const values = rejects.map(({ id, stage, reason, detail }) => [id, stage, reason, detail])
  await writeTable(sql, rejectColumns, values, file)
}

async function writeTable(
  sql: SqlDatabase,
  columns: Readonly<Record<string, string>>,
  rows: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>,
  file: string,
): Promise<void> {
  const table = `written_${tables++}`
  try {
    await sql.fill(table, columns, rows)
    await copyTo(sql, `SELECT * FROM ${table}`, file)
  } finally {
    await sql.run(`DROP TABLE IF EXISTS ${table}`)
  }
}

/** Writes the rows of a query as a parquet file, in their order. */
export async function copyTo(sql: SqlDatabase, query: string, file: string): Promise<void> {
  await sql.run(`COPY (${query}) TO ${sqlText(file)} ${parquet}`)
}
