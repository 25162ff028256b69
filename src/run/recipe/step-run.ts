import type { StageCount } from '../../core/recipe.ts'
import { type Dropped, isDropped, type StageContext } from '../../core/stage.ts'
import { streamOf } from '../../core/stream-stage.ts'
import type { SqlDatabase } from '../../lib/duckdb.ts'
import { decodeRow, type StoredKind } from '../../store/rows/columns.ts'
import { selectRows } from '../../store/rows/shard-sql.ts'
import type { Shard } from '../../store/rows/shards.ts'
import type { LiveStage } from './resolve.ts'

/** Everything a step needs besides its stages. */
export interface StepContext {
  readonly sql: SqlDatabase
  contextOf(stage: LiveStage): StageContext
}

/** A dropped row, as it is stored. */
export interface Reject {
  readonly id: string | null
  readonly stage: string
  readonly reason: string
  readonly detail: string | null
  readonly retry?: boolean | undefined
}

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

/** The same rows, calling `onRow` as each one passes. */
export async function* watched(rows: AsyncIterable<object>, onRow: () => void): AsyncIterable<object> {
  for await (const row of rows) {
    yield row
    onRow()
  }
}

/** Collects the rows that stages drop, and each stage's counts. */
interface StageBooks {
  readonly rejects: Reject[]
  readonly tallies: StageTally[]
}

/** Puts rows through stages in sequence; what they drop goes to `rejects`. */
export function throughStages(
  rows: AsyncIterable<object>,
  stages: readonly LiveStage[],
  at: Pick<StepContext, 'contextOf'>,
  { rejects, tallies }: StageBooks,
): AsyncIterable<object> {
  return stages.reduce((flow, live) => {
    const tally = new StageTally(live.id, live.use)
    tallies.push(tally)
    return throughStage(flow, live, at.contextOf(live), { rejects, tally })
  }, rows)
}

interface StageBook {
  readonly rejects: Reject[]
  readonly tally: StageTally
}

async function* throughStage(
  rows: AsyncIterable<object>,
  live: LiveStage,
  at: StageContext,
  { rejects, tally }: StageBook,
): AsyncIterable<object> {
  const seen = counted(rows, tally)
  for await (const row of streamOf(live.stage, seen, at)) {
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

function rejectOf({ drop, detail, id, retry }: Dropped, stage: string): Reject {
  return { id: id ?? null, stage, reason: drop, detail: detail ?? null, ...(retry && { retry }) }
}
