import type { SinkInput, WholeInput } from '../../core/whole-set.ts'
import type { SqlDatabase } from '../../lib/duckdb.ts'
import { rowsInFile, selectAllNumbered, selectNumbered } from '../../store/rows/shard-sql.ts'
import type { Shard } from '../../store/rows/shards.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'

/** Opens a view over the shards of each input, with each row's number. */
export async function openViews(sql: SqlDatabase, inputs: readonly StepOutput[]): Promise<readonly SinkInput[]> {
  const views: SinkInput[] = []
  for (const [i, { manifest, shards }] of inputs.entries()) {
    const [view, numbered] = [`input_${i}`, numberedShards(shards)]
    await sql.run(`CREATE VIEW ${view} AS ${selectAllNumbered(numbered)}`)
    const parts = numbered.map(({ shard, first }) => ({ select: selectNumbered(shard, first), rows: shard.rows }))
    views.push({ stage: manifest.id, view, rows: manifest.rows, parts })
  }
  return views
}

/** Shards with the number of the first row of their file. */
export function numberedShards(shards: readonly Shard[]): readonly { readonly shard: Shard; readonly first: number }[] {
  let next = 0
  return shards.map((shard) => {
    const first = next
    next += rowsInFile(shard)
    return { shard, first }
  })
}

export async function closeViews(sql: SqlDatabase, views: readonly WholeInput[]): Promise<void> {
  for (const { view } of views) await sql.run(`DROP VIEW IF EXISTS ${view}`)
}
