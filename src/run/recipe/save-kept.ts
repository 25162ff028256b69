import type { StageCount } from '../../core/recipe.ts'
import { selectRows } from '../../store/rows/shard-sql.ts'
import { type Shard, saveShard, type Written } from '../../store/rows/shards.ts'
import type { LiveStage } from './resolve.ts'
import type { Reject } from './step-run.ts'
import type { StepWork } from './step-work.ts'
import { copyTo, writeRejects } from './write-rows.ts'

/** What filters keep of a shard. */
export interface Kept {
  /** A 1 for each row of its file that stays, a 0 for each other. */
  readonly rows: string
  readonly rejects: readonly Reject[]
  readonly counts: readonly StageCount[]
}

/**
 * Saves what filters keep. If that is most of a file, the rows stay where they are and the new shard only records which
 * of them it has: writing them again would take longer than any filter. Fewer rows are written separately, so that
 * readers need not skip the others.
 */
export async function saveKept(work: StepWork, from: Shard, { rows: kept, rejects, counts }: Kept): Promise<Shard> {
  const { sql } = work.at
  const shard = await saveShard(work.dir, from.index, async (files): Promise<Written> => {
    await writeRejects(sql, rejects, files.rejects)
    const rows = from.rows - rejects.length
    // This step's scan recorded its findings for the steps below by the rows' current positions.
    if (work.below.length > 0 || rows * 2 >= kept.length) return { rows, counts, kept: { of: from.part, rows: kept } }
    await copyTo(sql, selectRows({ ...from, kept }), files.part)
    return { rows, counts }
  })
  work.onShard(shard)
  return shard
}

/** A row dropped by a filter, by its position in its shard's file. */
export interface Drop extends Reject {
  readonly place: number
}

/** A shard without some of its rows. */
export function keptWithout(from: Shard, drops: readonly Drop[], stages: readonly LiveStage[]): Kept {
  const bits = Buffer.from(bitsOf(from), 'latin1')
  for (const { place } of drops) bits[place] = zero
  return { rows: bits.toString('latin1'), rejects: drops, counts: countDrops(stages, from.rows, drops) }
}

const zero = '0'.charCodeAt(0)

/** Which rows of its file a shard has, a 1 or 0 for each. */
export function bitsOf({ kept, rows }: Shard): string {
  return kept ?? '1'.repeat(rows)
}

/** What each filter took and gave, with every dropped row counted for the first filter that drops it. */
function countDrops(stages: readonly LiveStage[], rows: number, drops: readonly Drop[]): readonly StageCount[] {
  let taken = rows
  return stages.map(({ id, use }) => {
    const reasons = drops.filter(({ stage }) => stage === id).map(({ reason }) => reason)
    const count = { id, use, taken, given: taken - reasons.length, drops: countEach(reasons) }
    taken = count.given
    return count
  })
}

function countEach(reasons: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const reason of [...reasons].sort()) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
