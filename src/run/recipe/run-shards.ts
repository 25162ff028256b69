import type { StageCount } from '../../core/recipe.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { findShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import type { StepWork } from './run-step.ts'
import { copyTo, type Reject, readRows, type StageTally, throughStages, writeRejects, writeRows } from './step-run.ts'

type Files = { readonly part: string; readonly rejects: string }
type Made = { rows: number; counts: readonly StageCount[] }

/** Makes one output shard of each input shard; those that are there already stay. */
export async function runShards(work: StepWork, input: readonly Shard[]): Promise<readonly (Shard | null)[]> {
  const make = work.step.stages[0]?.form === 'sql-filter' ? filterShard : streamShard
  const shards: (Shard | null)[] = []
  for (const from of input) {
    work.signal.throwIfAborted()
    const found = await findShard(work.dir, from.index)
    if (found || !work.mine(from.index)) {
      shards.push(found)
      continue
    }
    const shard = await saveShard(work.dir, from.index, (files) => make(work, from, files))
    shards.push(shard)
    work.onShard(shard)
  }
  return shards
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
