import { stat } from 'node:fs/promises'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { selectNumbered } from '../../store/rows/shard-sql.ts'
import { checkPart, findShard, peekShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import type { LiveStage } from './resolve.ts'
import { limited } from './run-source.ts'
import { bitsOf, keptWithout, saveKept } from './save-kept.ts'
import { type Reject, readRows, type StageTally, throughStages, watched } from './step-run.ts'
import type { StepWork } from './step-work.ts'
import { writeRejects, writeRows } from './write-rows.ts'

/** Makes one output shard per input shard; existing ones stay. */
export async function runShards(work: StepWork, input: readonly Shard[]): Promise<readonly (Shard | null)[]> {
  const isSql = work.step.stages[0]?.form === 'sql-filter'
  const make = isSql ? filterShard : work.step.stages.every(isFilter) ? sieveShard : streamShard
  return inLanes(work.at.sql, isSql ? await lanesFor(input) : 1, input, async (from, sql) => {
    work.signal.throwIfAborted()
    if (!work.mine(from.index)) return peekShard(work.dir, from.index)
    const found = await findShard(work.dir, from.index)
    if (found) return found
    if (work.shared) await checkPart(from)
    return make({ ...work, at: { ...work.at, sql } }, from)
  })
}

/** Whether a stage only passes rows on unchanged or drops them. */
export function isFilter({ stage }: LiveStage): boolean {
  return ['filter', 'sql-filter', 'set-filter', 'ordered-filter'].includes(stage.kind)
}

/**
 * How many shards are written at once: the database writes a small file with a single processor; large files need the
 * memory.
 */
export async function lanesFor(input: readonly Shard[]): Promise<number> {
  const sizes = await Promise.all(input.map(async ({ part }) => (await stat(part)).size))
  return sizes.every((bytes) => bytes <= 2 ** 27) ? 2 : 1
}

/** Maps items with limited concurrency, each on its own connection; returns the results in order. */
export async function inLanes<Item, Made>(
  sql: SqlDatabase,
  count: number,
  items: readonly Item[],
  make: (item: Item, sql: SqlDatabase) => Promise<Made>,
): Promise<readonly Made[]> {
  const made: Made[] = []
  const connections = await Promise.all(Array.from({ length: count }, () => sql.beside()))
  const free = [...connections]
  try {
    const lane = async (item: Item): Promise<Made> => {
      const own = free.pop() ?? sql
      return make(item, own).finally(() => free.push(own))
    }
    for await (const each of mapInOrder(items, count, lane)) made.push(each)
    return made
  } finally {
    for (const connection of connections) await connection[Symbol.asyncDispose]()
  }
}

async function streamShard(
  { step, kind, inputKind, at, dir, onRow, onShard, mostRows }: StepWork,
  from: Shard,
): Promise<Shard> {
  const shard = await saveShard(dir, from.index, async (files) => {
    const rejects: Reject[] = []
    const tallies: StageTally[] = []
    const flow = throughStages(watched(readRows(at.sql, inputKind, from), onRow), step.stages, at, { rejects, tallies })
    const rows = await writeRows(
      at.sql,
      kind,
      mostRows === null ? flow : limited(flow, Math.max(mostRows, from.rows)),
      files.part,
    )
    await writeRejects(at.sql, rejects, files.rejects)
    return { rows, counts: tallies.map((tally) => tally.count()) }
  })
  onShard(shard)
  return shard
}

/** Applies the step's filters in sequence; the rows they keep stay where they are. */
async function sieveShard(work: StepWork, from: Shard): Promise<Shard> {
  const { step, inputKind, at, onRow } = work
  const rejects: Reject[] = []
  const tallies: StageTally[] = []
  const numbers = new WeakMap<object, number>()
  const stay = new Set<number>()
  const flow = throughStages(numbered(watched(readRows(at.sql, inputKind, from), onRow), numbers), step.stages, at, {
    rejects,
    tallies,
  })
  for await (const row of flow) {
    const number = numbers.get(row)
    if (number === undefined) throw new Error(`a filter of ${step.id} returned a row that was not in its input`)
    stay.add(number)
  }
  let number = 0
  const rows = bitsOf(from).replaceAll('1', () => (stay.has(number++) ? '1' : '0'))
  return saveKept(work, from, { rows, rejects, counts: tallies.map((tally) => tally.count()) })
}

/** Remembers each row's number. */
async function* numbered(rows: AsyncIterable<object>, numbers: WeakMap<object, number>): AsyncIterable<object> {
  let next = 0
  for await (const row of rows) {
    numbers.set(row, next++)
    yield row
  }
}

/** Applies all of the step's filters in one scan, which reads only the columns they use. */
async function filterShard(work: StepWork, from: Shard): Promise<Shard> {
  const found = await work.at.sql.rows(`${findDrops(work.step.stages, selectNumbered(from, 0))} ORDER BY row`)
  const drops = found.map(({ row, id, stage, reason }) => ({
    ...{ place: Number(row), id: String(id), stage: String(stage), reason: String(reason), detail: null },
  }))
  return saveKept(work, from, keptWithout(from, drops, work.step.stages))
}

/** A query for the rows that filters drop; the first filter that gives a reason gets the row. */
export function findDrops(filters: readonly LiveStage[], rows: string): string {
  const cases = filters.flatMap(({ id, stage }) =>
    stage.kind === 'sql-filter'
      ? [`WHEN (${stage.reason}) IS NOT NULL THEN {stage: ${sqlText(id)}, reason: (${stage.reason})}`]
      : [],
  )
  return `SELECT row, id, verdict.stage, verdict.reason FROM (SELECT row, id, CASE ${cases.join(' ')} END AS verdict FROM (${rows})) WHERE verdict IS NOT NULL`
}
