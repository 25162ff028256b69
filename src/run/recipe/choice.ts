import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { WholeInput } from '../../core/stage.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { findShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { LiveStage } from './resolve.ts'
import type { StepWork } from './run-step.ts'
import { copyTo } from './write-rows.ts'

/** The verdict on every row: its place among the kept, or the reason it goes. */
export async function recordChoice(sql: SqlDatabase, chosen: string, views: readonly WholeInput[]): Promise<void> {
  const all = views.map(({ view }, i) => `SELECT ${i} AS input, row FROM ${view}`).join(' UNION ALL ')
  await sql.run(`
    CREATE TABLE choice AS
    SELECT a.input, a.row, c.signals, c.detail,
      CASE WHEN c.row IS NULL THEN 'not-chosen' ELSE c.reason END AS reason,
      CASE WHEN c.row IS NOT NULL AND c.reason IS NULL THEN row_number() OVER (
        PARTITION BY (c.row IS NOT NULL AND c.reason IS NULL) ORDER BY c.position, a.input, a.row) - 1 END AS place
    FROM (${all}) a LEFT JOIN ${chosen} c ON c.input = a.input AND c.row = a.row`)
}

/** Whether what is kept stays as it is and in its order, none of it twice. */
export async function keepsRows(sql: SqlDatabase): Promise<boolean> {
  const changes = await sql.number(
    'SELECT count(*) FROM (SELECT row, signals, lag(row) OVER (ORDER BY place) AS before FROM choice WHERE reason IS NULL) WHERE before >= row OR signals IS NOT NULL',
  )
  return changes === 0
}

/** Writes the chosen rows of all inputs in their places. */
export async function saveSorted(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
): Promise<readonly Shard[]> {
  const { sql } = work.at
  const kept = await sql.number('SELECT count(*) FROM choice WHERE reason IS NULL')
  const sorted = join(work.dir, `sorted.${process.pid}.tmp`)
  const shards: Shard[] = []
  try {
    await sortInto(sql, views, sorted)
    for (let index = 0; index < Math.max(1, Math.ceil(kept / work.shardRows)); index++) {
      work.signal.throwIfAborted()
      const from = index * work.shardRows
      const rows = Math.min(work.shardRows, kept - from)
      const select = `SELECT * EXCLUDE (place) FROM read_parquet(${sqlText(sorted)}) WHERE place >= ${from} AND place < ${from + rows}`
      shards.push((await findShard(work.dir, index)) ?? (await saveOne(work, live, views, { index, rows, select })))
    }
    return shards
  } finally {
    await rm(sorted, { force: true })
  }
}

const mergedSignals =
  'CASE WHEN c.signals IS NULL THEN v.signals ELSE json_merge_patch(v.signals, c.signals)::VARCHAR END'

/** The kept rows of all inputs in their places, as one file to cut shards from. */
async function sortInto(sql: SqlDatabase, views: readonly WholeInput[], file: string): Promise<void> {
  const parts = views.map(
    ({ view }, i) =>
      `SELECT v.* EXCLUDE (row, signals), ${mergedSignals} AS signals, c.place FROM ${view} v JOIN choice c ON c.row = v.row WHERE c.input = ${i} AND c.reason IS NULL`,
  )
  await copyTo(sql, `SELECT * FROM (${parts.join(' UNION ALL ')}) ORDER BY place`, file)
}

async function saveOne(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
  { index, rows, select }: { readonly index: number; readonly rows: number; readonly select: string },
): Promise<Shard> {
  const { sql } = work.at
  const shard = await saveShard(work.dir, index, async (files) => {
    await copyTo(sql, select, files.part)
    // What was dropped belongs to the whole set; it is kept beside the first shard.
    const rejects = `SELECT * EXCLUDE (row) FROM (${rejectsOf(live.id, views)})`
    await copyTo(sql, index === 0 ? rejects : `${rejects} LIMIT 0`, files.rejects)
    return { rows, counts: [await countChoice(sql, live, views, index, rows)] }
  })
  work.onShard(shard)
  return shard
}

/** The rows that were not chosen, with the reason, in order. */
export function rejectsOf(stage: string, views: readonly WholeInput[]): string {
  const parts = views.map(
    ({ view }, i) =>
      `SELECT v.id, ${sqlText(stage)} AS stage, c.reason, c.detail, ${i} AS input, v.row FROM ${view} v JOIN choice c ON c.row = v.row WHERE c.input = ${i} AND c.reason IS NOT NULL`,
  )
  return `SELECT id, stage, reason, detail, row FROM (${parts.join(' UNION ALL ')}) ORDER BY input, row`
}

async function countChoice(
  sql: SqlDatabase,
  { id, use }: LiveStage,
  views: readonly WholeInput[],
  index: number,
  given: number,
): Promise<StepOutput['manifest']['counts'][number]> {
  if (index > 0) return { id, use, taken: 0, given, drops: {} }
  const drops = await sql.rows(
    'SELECT reason, count(*) AS dropped FROM choice WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason',
  )
  return {
    id,
    use,
    taken: views.reduce((sum, { rows }) => sum + rows, 0),
    given,
    drops: Object.fromEntries(drops.map(({ reason, dropped }) => [String(reason), Number(dropped)])),
  }
}
