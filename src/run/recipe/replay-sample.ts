import { BoundaryError } from '../../core/errors.ts'
import { describeReplay, type ReplayResult } from '../../core/replay.ts'
import type { Sink } from '../../core/stage.ts'
import { makeRandom } from '../../lib/random.ts'
import { decodeRow } from '../../store/rows/columns.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { tasksByDigest } from './lineage.ts'
import type { LiveStage } from './resolve.ts'
import type { StepContext } from './step-run.ts'
import { closeViews, openViews } from './views.ts'

/**
 * Replays a few of the rows a sink is about to write; null when no replay is requested. Stops the recipe if rows that
 * must hold do not.
 */
export async function replaySample(
  { sql, contextOf }: StepContext,
  live: LiveStage,
  input: StepOutput,
  { runDir, steps }: { readonly runDir: string; readonly steps: readonly StepOutput[] },
): Promise<ReplayResult | null> {
  const wish = (live.stage as Sink).replay
  const { services, signal, seed, log } = contextOf(live)
  if (!wish || wish.rows === 0 || !services || input.manifest.kind !== 'trace') return null
  const rows = await chosenRows(sql, input, wish.rows, seed)
  if (rows.length === 0) return null
  log(rows.length === 1 ? 'replaying 1 row' : `replaying ${rows.length} rows`)
  const tasks = (digests: readonly string[]) => tasksByDigest(sql, steps, digests)
  const result = await services.replay({ runDir, rows, tasks, signal })
  if (wish.require && result.holds < result.rows)
    throw new BoundaryError('agent', `stage ${live.id}: ${describeReplay(result)}; nothing was written`, {
      code: 'ReplayDiverged',
      retryable: false,
    })
  return result
}

/** Samples only row numbers, then reads only the chosen rows. */
async function chosenRows(sql: StepContext['sql'], input: StepOutput, count: number, seed: number) {
  const views = await openViews(sql, [input])
  try {
    const [view] = views
    if (!view) return []
    const numbers = (await sql.rows(`SELECT row FROM ${view.view} ORDER BY row`)).map(({ row }) => Number(row))
    const chosen = makeRandom(seed, 'replay').sample(numbers, count)
    if (chosen.length === 0) return []
    const rows = await sql.rows(`SELECT * FROM ${view.view} WHERE row IN (${chosen.join(', ')}) ORDER BY row`)
    return rows.map((row) => decodeRow('trace', row))
  } finally {
    await closeViews(sql, views)
  }
}
