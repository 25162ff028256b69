import { mkdir } from 'node:fs/promises'
import type { SqlDatabase } from '../../lib/duckdb.ts'
import { rowsInFile, selectAllRows } from '../../store/rows/shard-sql.ts'
import { findShard, type Shard } from '../../store/rows/shards.ts'
import { findStep, finishStep, peekStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { keepsRows, recordChoice, rejectsOf, saveSorted } from './choice.ts'
import { inLanes, lanesFor, runShards } from './run-shards.ts'
import { runSource } from './run-source.ts'
import { keptWithout, saveKept } from './save-kept.ts'
import type { StepWork } from './step-work.ts'
import { isUndivided } from './steps.ts'
import { closeViews, numberedShards, openViews } from './views.ts'

/** The result of a step: its output, found or made, or nothing yet because other processes' shards are missing. */
export type StepEnd = { readonly output: StepOutput; readonly cached: boolean } | { readonly waiting: number }

/** Makes a step's output, or finds the existing one. */
export async function runStep(work: StepWork, inputs: readonly StepOutput[]): Promise<StepEnd> {
  // If several processes share the recipe, each checks the files it reads; the one that finishes the recipe checks all.
  const found = await (work.shared ? peekStep : findStep)(work.dir)
  if (found) return { output: found, cached: true }
  if (work.shared && isUndivided(work.step)) return { waiting: 1 }
  await mkdir(work.dir, { recursive: true })
  const expected = await makeShards(work, inputs)
  const missing = expected.filter((shard) => shard === null).length
  if (missing > 0) return { waiting: missing }
  const shards = expected.filter((shard) => shard !== null)
  const { digest, kind, step } = work
  const sources = await countSources(work.at.sql, shards)
  const output = await finishStep(work.dir, { id: step.id, digest, kind, sources }, shards)
  return { output, cached: false }
}

/** The number of rows per source, largest first. */
async function countSources(sql: SqlDatabase, shards: readonly Shard[]): Promise<Record<string, number>> {
  const counts = await sql.rows(
    `SELECT source, count(*) AS rows FROM (${selectAllRows(shards)}) GROUP BY source ORDER BY rows DESC, source`,
  )
  return Object.fromEntries(counts.map(({ source, rows }) => [String(source ?? 'unknown'), Number(rows)]))
}

async function makeShards(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly (Shard | null)[]> {
  const form = work.step.stages[0]?.form
  if (form === 'whole') return runWhole(work, inputs)
  if (form === 'source') return runSource(work)
  return runShards(work, inputs[0]?.shards ?? [])
}

/** Lets a stage look at all rows of its inputs; what it keeps becomes the step's rows. */
async function runWhole(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly Shard[]> {
  const [[live], [only]] = [work.step.stages, inputs]
  if (!live || !only) throw new Error('a whole-set step has a stage and an input')
  const { sql } = work.at
  const at = { ...work.at.contextOf(live), sql }
  if (live.stage.kind === 'ordered-filter') {
    const { drops, end } = await work.judged.judge(work.at, live, work.below, only)
    await end()
    return saveDropped(work, only, drops).finally(() => sql.run('DROP TABLE IF EXISTS dropped'))
  }
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

/** Drops rows from the shards they are in. */
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
