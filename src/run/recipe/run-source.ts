import { findShard, peekShard, type Shard, saveShard } from '../../store/rows/shards.ts'
import { settleShardRows } from '../../store/rows/step-dir.ts'
import { type Reject, StageTally, throughStages, watched } from './step-run.ts'
import type { StepWork } from './step-work.ts'
import { writeRejects, writeRows } from './write-rows.ts'

/**
 * Cuts a source's rows into shards. A source starts over each time, so rows already in earlier shards are skipped up to
 * the first missing one.
 */
export async function runSource(work: StepWork): Promise<readonly (Shard | null)[]> {
  const { step, dir, kind, mine, at } = work
  const shardRows = await settleShardRows(dir, work.shardRows)
  const rejects: Reject[] = []
  const tallies: StageTally[] = []
  const flow = throughStages(none(), step.stages, at, { rejects, tallies })
  const rows = watched(limited(flow, work.limit), work.onRow)[Symbol.asyncIterator]()
  const shards: (Shard | null)[] = []
  const stage = step.stages[0]
  for (let index = 0, more = true; more; index++) {
    const cut = takeSome(rows, shardRows, () => {
      more = false
    })
    const found = await (mine(index) ? findShard : peekShard)(dir, index)
    if (found !== null || !mine(index)) {
      for await (const _ of cut);
      rejects.length = 0
      shards.push(found)
      continue
    }
    const shard = await saveShard(dir, index, async (files) => {
      const count = await writeRows(at.sql, kind, cut, files.part)
      const dropped = rejects.splice(0)
      await writeRejects(at.sql, dropped, files.rejects)
      const tally = new StageTally(stage?.id ?? step.id, stage?.use ?? '')
      for (let given = 0; given < count; given++) tally.give()
      for (const { reason } of dropped) tally.drop(reason)
      return { rows: count, counts: [tally.count()] }
    })
    shards.push(shard)
    work.onShard(shard)
  }
  return shards
}

async function* none(): AsyncIterable<object> {}

/** At most `limit` of some rows; null for all. */
export async function* limited(rows: AsyncIterable<object>, limit: number | null): AsyncIterable<object> {
  let left = limit ?? Number.POSITIVE_INFINITY
  if (left <= 0) return
  for await (const row of rows) {
    yield row
    if (--left <= 0) return
  }
}

/** The next rows of an iterator, without closing it; calls `atEnd` when there are no more. */
async function* takeSome(rows: AsyncIterator<object>, count: number, atEnd: () => void): AsyncIterable<object> {
  for (let taken = 0; taken < count; taken++) {
    const next = await rows.next()
    if (next.done) return atEnd()
    yield next.value
  }
}
