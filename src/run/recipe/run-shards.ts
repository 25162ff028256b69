import { stat } from 'node:fs/promises'
import type { StageCount } from '../../core/recipe.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { mapInOrder } from '../../lib/map-in-order.ts'
import { findShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import type { StepWork } from './run-step.ts'
import { copyTo, type Reject, readRows, type StageTally, throughStages, writeRejects, writeRows } from './step-run.ts'

type Files = { readonly part: string; readonly rejects: string }
type Made = { rows: number; counts: readonly StageCount[] }

/** Makes one output shard of each input shard; those that are there already stay. */
export async function runShards(work: StepWork, input: readonly Shard[]): Promise<readonly (Shard | null)[]> {
  const isSql = work.step.stages[0]?.form === 'sql-filter'
  const make = isSql ? filterShard : streamShard
  return inLanes(work.at.sql, isSql ? await lanesFor(input) : 1, input, async (from, sql) => {
    work.signal.throwIfAborted()
    const found = await findShard(work.dir, from.index)
    if (found || !work.mine(from.index)) return found
    const shard = await saveShard(work.dir, from.index, (files) =>
      make({ ...work, at: { ...work.at, sql } }, from, files),
    )
    work.onShard(shard)
    return shard
  })
}

/** How many shards are written at once: the database alone writes a small file with one processor; large ones need the memory. */
export async function lanesFor(input: readonly Shard[]): Promise<number> {
  const sizes = await Promise.all(input.map(async ({ part }) => (await stat(part)).size))
  return sizes.every((bytes) => bytes <= 2 ** 27) ? 2 : 1
}

/** Makes something of each item, so many at once, each on a connection of its own; gives what was made in order. */
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

async function streamShard({ step, kind, inputKind, at }: StepWork, from: Shard, files: Files): Promise<Made> {
  const rejects: Reject[] = []
  const tallies: StageTally[] = []
  const flow = throughStages(readRows(at.sql, inputKind, from.part), step.stages, at, rejects, tallies)
  const rows = await writeRows(at.sql, kind, flow, files.part)
  await writeRejects(at.sql, rejects, files.rejects)
  return { rows, counts: tallies.map((tally) => tally.count()) }
}

/** All filters of the step in one scan: the first that gives a reason has the row. */
async function filterShard({ step, at: { sql } }: StepWork, from: Shard, files: Files): Promise<Made> {
  const reasons = step.stages.map(({ stage }) => ('reason' in stage ? `(${stage.reason})` : 'NULL'))
  const reason = `COALESCE(${reasons.join(', ')}, NULL)`
  const stage = `CASE ${reasons.map((each, i) => `WHEN ${each} IS NOT NULL THEN ${sqlText(step.stages[i]?.id ?? '')}`).join(' ')} END`
  const rows = `read_parquet(${sqlText(from.part)})`
  await copyTo(sql, `SELECT * FROM ${rows} WHERE ${reason} IS NULL`, files.part)
  await copyTo(
    sql,
    `SELECT id, ${stage} AS stage, ${reason} AS reason, NULL::VARCHAR AS detail FROM ${rows} WHERE ${reason} IS NOT NULL`,
    files.rejects,
  )
  return { rows: await countRows(sql, files.part), counts: await countFilters(sql, step.stages, from.rows, files) }
}

async function countFilters(
  sql: SqlDatabase,
  stages: StepWork['step']['stages'],
  rows: number,
  files: Files,
): Promise<readonly StageCount[]> {
  const drops = await sql.rows(
    `SELECT stage, reason, count(*) AS dropped FROM read_parquet(${sqlText(files.rejects)}) GROUP BY ALL ORDER BY ALL`,
  )
  let taken = rows
  return stages.map(({ id, use }) => {
    const own = drops.filter(({ stage }) => stage === id)
    const given = taken - own.reduce((sum, { dropped }) => sum + Number(dropped), 0)
    const count = {
      id,
      use,
      taken,
      given,
      drops: Object.fromEntries(own.map(({ reason, dropped }) => [String(reason), Number(dropped)])),
    }
    taken = given
    return count
  })
}

/** How many rows a parquet file has, from its footer. */
export async function countRows(sql: SqlDatabase, file: string): Promise<number> {
  return sql.number(`SELECT count(*) FROM read_parquet(${sqlText(file)})`)
}
