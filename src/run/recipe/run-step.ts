import { mkdir } from 'node:fs/promises'
import type { SqlDatabase } from '../../lib/duckdb.ts'
import { selectRows } from '../../store/rows/shard-sql.ts'
import type { Shard } from '../../store/rows/shards.ts'
import { findStep, finishStep, type StepOutput } from '../../store/rows/step-dir.ts'
import { runShards } from './run-shards.ts'
import { runSource } from './run-source.ts'
import { runWhole } from './run-whole.ts'
import type { StepWork } from './step-work.ts'
import { isUndivided } from './steps.ts'

/** What a step gave: its output, found or made, or nothing yet because shards of other processes are missing. */
export type StepEnd = { readonly output: StepOutput; readonly cached: boolean } | { readonly waiting: number }

/** Makes the output of a step, or finds the one that is there. */
export async function runStep(work: StepWork, inputs: readonly StepOutput[]): Promise<StepEnd> {
  const found = await findStep(work.dir)
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

/** How many rows came from each source, largest first. */
async function countSources(sql: SqlDatabase, shards: readonly Shard[]): Promise<Record<string, number>> {
  const counts = await sql.rows(
    `SELECT source, count(*) AS rows FROM (${shards.map(selectRows).join(' UNION ALL ')}) GROUP BY source ORDER BY rows DESC, source`,
  )
  return Object.fromEntries(counts.map(({ source, rows }) => [String(source ?? 'unknown'), Number(rows)]))
}

async function makeShards(work: StepWork, inputs: readonly StepOutput[]): Promise<readonly (Shard | null)[]> {
  const form = work.step.stages[0]?.form
  if (form === 'whole') return runWhole(work, inputs)
  if (form === 'source') return runSource(work)
  return runShards(work, inputs[0]?.shards ?? [])
}
