import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { WholeInput } from '../../core/whole-set.ts'
import { draftOf, removeDraft } from '../../lib/drafts.ts'
import { type SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { readJson } from '../../lib/parse-json.ts'
import { PlaceSort } from '../../lib/place-sort.ts'
import { decodeRow } from '../../store/rows/columns.ts'
import { rowsInFile, selectNumbered } from '../../store/rows/shard-sql.ts'
import { findShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import { type StepOutput, settleShardRows } from '../../store/rows/step-dir.ts'
import type { LiveStage } from './resolve.ts'
import { bitsOf } from './save-kept.ts'
import type { StepWork } from './step-work.ts'
import { numberedShards } from './views.ts'
import { copyTo, writeRows } from './write-rows.ts'

/** Records the verdict on every row: its place among the kept rows, or the reason it is dropped. */
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

/** Whether the kept rows are unchanged, in order, and without repeats. */
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
  inputs: readonly StepOutput[],
): Promise<readonly Shard[]> {
  const { dir, signal } = work
  const shardRows = await settleShardRows(dir, work.shardRows)
  const kept = await work.at.sql.number('SELECT count(*) FROM choice WHERE reason IS NULL')
  const heaps = draftOf(join(dir, 'sorted'))
  const shards: Shard[] = []
  try {
    // Left by a killed run of an earlier version; no other process is working on this step.
    await rm(join(dir, 'sorted.tmp'), { recursive: true, force: true })
    const sort = new PlaceSort(heaps, Math.min(shardRows, await rowsOfHeap(work, inputs)))
    await sortRows(work, inputs, sort)
    for (let index = 0; index < Math.max(1, Math.ceil(kept / shardRows)); index++) {
      signal.throwIfAborted()
      const rows = sort.range(index * shardRows, Math.min(kept, (index + 1) * shardRows))
      shards.push((await findShard(dir, index)) ?? (await saveOne(work, live, { views, index }, rows)))
    }
    return shards
  } finally {
    await removeDraft(heaps)
  }
}

/** Approximate amount sorted at once. The database would hold 2,048 rows at once, however long they are. */
const heapBytes = 2 ** 24

async function rowsOfHeap({ at: { sql } }: StepWork, inputs: readonly StepOutput[]): Promise<number> {
  const parts = [...new Set(inputs.flatMap(({ shards }) => shards.map(({ part }) => part)))]
  const files = parts.map(sqlText).join(', ')
  const [size = {}] = await sql.rows(
    `SELECT sum(row_group_bytes) AS bytes, sum(row_group_num_rows) AS rows FROM parquet_metadata([${files}]) WHERE column_id = 0`,
  )
  return Math.max(1, Math.floor((heapBytes * Number(size.rows ?? 0)) / Number(size.bytes ?? 0)) || 1)
}

/** Reads each input once and gives every chosen row its places. */
async function sortRows({ at: { sql }, inputKind, signal }: StepWork, inputs: readonly StepOutput[], sort: PlaceSort) {
  for (const [input, { shards }] of inputs.entries())
    for (const { shard, first } of numberedShards(shards)) {
      signal.throwIfAborted()
      const places = await placesIn(sql, input, shard, first)
      const kept = bitsOf(shard).replaceAll('1', (_, row: number) => (places.has(row) ? '1' : '0'))
      for await (const records of sql.batches(selectNumbered({ ...shard, kept }, 0), places.size))
        for (const record of records) {
          const row = decodeRow(inputKind, record)
          for (const { place, signals } of places.get(Number(record.row)) ?? [])
            await sort.add(place, { ...row, signals: { ...Object(row.signals), ...signals } })
        }
    }
}

type Place = { readonly place: number; readonly signals: object }

/** The places of each chosen row in a shard, by its number in the file. */
async function placesIn(sql: SqlDatabase, input: number, shard: Shard, first: number) {
  const places = new Map<number, Place[]>()
  const lines = await sql.rows(
    `SELECT row - ${first} AS row, place, signals FROM choice WHERE input = ${input} AND reason IS NULL AND row >= ${first} AND row < ${first + rowsInFile(shard)}`,
  )
  for (const { row, place, signals } of lines) {
    const own = places.get(Number(row)) ?? []
    places.set(Number(row), own)
    own.push({ place: Number(place), signals: Object(readJson(String(signals ?? '{}'))) })
  }
  return places
}

interface ChosenShard {
  readonly views: readonly WholeInput[]
  readonly index: number
}

async function saveOne(
  work: StepWork,
  live: LiveStage,
  { views, index }: ChosenShard,
  chosen: AsyncIterable<object>,
): Promise<Shard> {
  const { sql } = work.at
  const shard = await saveShard(work.dir, index, async (files) => {
    const rows = await writeRows(sql, work.kind, chosen, files.part)
    // Dropped rows belong to the whole set; they are stored with the first shard.
    const rejects = `SELECT * EXCLUDE (row) FROM (${rejectsOf(live.id, views)})`
    await copyTo(sql, index === 0 ? rejects : `${rejects} LIMIT 0`, files.rejects)
    return { rows, counts: [await countChoice(sql, live, { views, index }, rows)] }
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
  { views, index }: ChosenShard,
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
