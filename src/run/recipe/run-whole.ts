import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SinkInput, WholeInput, WholeStage } from '../../core/stage.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { findShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import type { LiveStage } from './resolve.ts'
import { countRows, inLanes, lanesFor } from './run-shards.ts'
import type { StepWork } from './run-step.ts'
import { copyTo } from './step-run.ts'

/** Lets a stage choose among all rows of its inputs, then moves the chosen ones into shards. */
export async function runWhole(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly Shard[]> {
  const [live] = work.step.stages
  if (!live) throw new Error('a step has a stage')
  const { sql } = work.at
  const views = await openViews(sql, inputs)
  try {
    const chosen = await (live.stage as WholeStage).choose(views, { ...work.at.contextOf(live), sql })
    await recordChoice(sql, chosen, views)
    return await saveChosen(work, live, views, inputs)
  } finally {
    await closeViews(sql, views)
  }
}

/** A view over the shards of each input, with the number of each row. */
export async function openViews(sql: SqlDatabase, inputs: readonly StepOutput[]): Promise<readonly SinkInput[]> {
  const views = inputs.map(({ manifest, shards }, i) => ({
    stage: manifest.id,
    view: `input_${i}`,
    rows: manifest.rows,
    parts: partsOf(shards),
  }))
  for (const { view, parts } of views) {
    const selects = parts.map(
      ({ file, first }) =>
        `SELECT * EXCLUDE (file_row_number), file_row_number + ${first} AS row FROM read_parquet(${sqlText(file)}, file_row_number = true)`,
    )
    await sql.run(`CREATE VIEW ${view} AS ${selects.join(' UNION ALL ')}`)
  }
  return views
}

function partsOf(shards: readonly Shard[]): SinkInput['parts'] {
  let first = 0
  return shards.map(({ part, rows }) => {
    first += rows
    return { file: part, first: first - rows, rows }
  })
}

export async function closeViews(sql: SqlDatabase, views: readonly WholeInput[]): Promise<void> {
  await sql.run('DROP TABLE IF EXISTS choice')
  for (const { view } of views) await sql.run(`DROP VIEW IF EXISTS ${view}`)
}

/** The verdict on every row: its place among the kept, or the reason it goes. */
async function recordChoice(sql: SqlDatabase, chosen: string, views: readonly WholeInput[]): Promise<void> {
  const all = views.map(({ view }, i) => `SELECT ${i} AS input, row FROM ${view}`).join(' UNION ALL ')
  await sql.run(`
    CREATE TABLE choice AS
    SELECT a.input, a.row, c.signals, c.detail,
      CASE WHEN c.row IS NULL THEN 'not-chosen' ELSE c.reason END AS reason,
      CASE WHEN c.row IS NOT NULL AND c.reason IS NULL THEN row_number() OVER (
        PARTITION BY (c.row IS NOT NULL AND c.reason IS NULL) ORDER BY c.position, a.input, a.row) - 1 END AS place
    FROM (${all}) a LEFT JOIN ${chosen} c ON c.input = a.input AND c.row = a.row`)
}

async function saveChosen(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
  inputs: readonly StepOutput[],
): Promise<readonly Shard[]> {
  const [only] = inputs
  if (inputs.length === 1 && only && (await keepsOrder(work.at.sql))) return saveInPlace(work, live, views, only)
  const kept = await work.at.sql.number('SELECT count(*) FROM choice WHERE reason IS NULL')
  const sorted = join(work.dir, `sorted.${process.pid}.tmp`)
  const indices = Array.from({ length: Math.max(1, Math.ceil(kept / work.shardRows)) }, (_, index) => index)
  try {
    await sortInto(work.at.sql, views, sorted)
    return await saveEach(work, live, views, indices, 1, (index) => {
      const [from, to] = [index * work.shardRows, (index + 1) * work.shardRows]
      return `SELECT * EXCLUDE (place) FROM read_parquet(${sqlText(sorted)}) WHERE place >= ${from} AND place < ${to}`
    })
  } finally {
    await rm(sorted, { force: true })
  }
}

/** Whether the kept rows stay in the order they came in, none of them twice: then they need not be sorted. */
async function keepsOrder(sql: SqlDatabase): Promise<boolean> {
  const turns = await sql.number(
    'SELECT count(*) FROM (SELECT row, lag(row) OVER (ORDER BY place) AS before FROM choice WHERE reason IS NULL) WHERE before >= row',
  )
  return turns === 0
}

async function saveInPlace(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
  { shards }: StepOutput,
): Promise<readonly Shard[]> {
  const { sql } = work.at
  const parts = partsOf(shards)
  const signals = await sql.number('SELECT count(*) FROM choice WHERE reason IS NULL AND signals IS NOT NULL')
  const indices = shards.map((_, i) => i)
  return saveEach(work, live, views, indices, await lanesFor(shards), async (index, own) => {
    const { file, first, rows } = parts[index] ?? { file: '', first: 0, rows: 0 }
    const all = `read_parquet(${sqlText(file)}, file_row_number = true)`
    if (signals > 0)
      return `SELECT v.* EXCLUDE (file_row_number, signals), ${mergedSignals} AS signals FROM ${all} v JOIN choice c ON c.row = v.file_row_number + ${first} WHERE c.reason IS NULL ORDER BY c.row`
    return `SELECT * EXCLUDE (file_row_number) FROM ${all} WHERE ${await keptOf(own, first, rows)}`
  })
}

/** Which rows of a file are kept, as a condition on their number: one bit each, so that a plain scan keeps their order and nothing is sorted. */
async function keptOf(sql: SqlDatabase, first: number, rows: number): Promise<string> {
  const bits = new Uint8Array(rows).fill(48)
  for (const { row } of await sql.rows(
    `SELECT row FROM choice WHERE reason IS NULL AND row >= ${first} AND row < ${first + rows}`,
  ))
    bits[Number(row) - first] = 49
  if (!bits.includes(48)) return 'true'
  return `get_bit('${Buffer.from(bits).toString('latin1')}'::BIT, file_row_number::INTEGER) = 1`
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

async function saveEach(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
  indices: readonly number[],
  lanes: number,
  rowsOf: (index: number, sql: SqlDatabase) => string | Promise<string>,
): Promise<readonly Shard[]> {
  return inLanes(work.at.sql, lanes, indices, async (index, sql) => {
    work.signal.throwIfAborted()
    const apart = { ...work, at: { ...work.at, sql } }
    return (await findShard(work.dir, index)) ?? (await saveOne(apart, live, views, index, await rowsOf(index, sql)))
  })
}

async function saveOne(
  work: StepWork,
  live: LiveStage,
  views: readonly WholeInput[],
  index: number,
  query: string,
): Promise<Shard> {
  const { sql } = work.at
  const shard = await saveShard(work.dir, index, async (files) => {
    await copyTo(sql, query, files.part)
    const rows = await countRows(sql, files.part)
    // What was dropped belongs to the whole set; it is kept beside the first shard.
    await copyTo(sql, index === 0 ? rejectsOf(live.id, views) : `${rejectsOf(live.id, views)} LIMIT 0`, files.rejects)
    return { rows, counts: [await countChoice(sql, live, views, index, rows)] }
  })
  work.onShard(shard)
  return shard
}

function rejectsOf(stage: string, views: readonly WholeInput[]): string {
  const parts = views.map(
    ({ view }, i) =>
      `SELECT v.id, ${sqlText(stage)} AS stage, c.reason, c.detail, ${i} AS input, v.row FROM ${view} v JOIN choice c ON c.row = v.row WHERE c.input = ${i} AND c.reason IS NOT NULL`,
  )
  return `SELECT id, stage, reason, detail FROM (${parts.join(' UNION ALL ')}) ORDER BY input, row`
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
