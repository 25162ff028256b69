import { rowsInFile } from '../../store/rows/shard-sql.ts'
import { findShard, type Shard } from '../../store/rows/shards.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { keepsRows, recordChoice, rejectsOf, saveSorted } from './choice.ts'
import { inLanes, lanesFor } from './run-shards.ts'
import { keptWithout, saveKept } from './save-kept.ts'
import type { StepWork } from './step-work.ts'
import { closeViews, numberedShards, openViews } from './views.ts'

/** Lets a stage look at all rows of its inputs; what it keeps becomes the rows of the step. */
export async function runWhole(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly Shard[]> {
  const [[live], [only]] = [work.step.stages, inputs]
  if (!live || !only) throw new Error('a whole-set step has a stage and an input')
  const { sql } = work.at
  const at = { ...work.at.contextOf(live), sql }
  const views = await openViews(sql, inputs)
  try {
    const [first] = views
    const { stage } = live
    if (first && stage.kind === 'set-filter') return await saveDropped(work, only, await stage.findDrops(first, at))
    if (stage.kind !== 'mixer') throw new Error(`a ${stage.kind} does not see all rows at once`)
    await recordChoice(sql, await stage.choose(views, at), views)
    if (inputs.length > 1 || !(await keepsRows(sql))) return await saveSorted(work, live, views, inputs)
    return await saveDropped(work, only, `(${rejectsOf(live.id, views)})`)
  } finally {
    await closeViews(sql, views)
    await sql.run('DROP TABLE IF EXISTS choice')
    await sql.run('DROP TABLE IF EXISTS dropped')
  }
}

/** Leaves rows out of the shards they are in. */
async function saveDropped(work: StepWork, { shards }: StepOutput, drops: string): Promise<readonly Shard[]> {
  const { step } = work
  const [stage = ''] = step.stages.map(({ id }) => id)
  await work.at.sql.run(`CREATE OR REPLACE TABLE dropped AS SELECT row, id, reason, detail FROM ${drops} ORDER BY row`)
  return inLanes(work.at.sql, await lanesFor(shards), numberedShards(shards), async ({ shard, first }, sql) => {
    work.signal.throwIfAborted()
    const found = await findShard(work.dir, shard.index)
    if (found) return found
    const lines = await sql.rows(
      `SELECT * FROM dropped WHERE row >= ${first} AND row < ${first + rowsInFile(shard)} ORDER BY row`,
    )
    const own = lines.map(({ row, id, reason, detail }) => ({
      ...{ place: Number(row) - first, id: String(id), stage, reason: String(reason) },
      detail: detail === null ? null : String(detail),
    }))
    return saveKept({ ...work, at: { ...work.at, sql } }, shard, keptWithout(shard, own, step.stages))
  })
}
