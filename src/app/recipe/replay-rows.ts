import { availableParallelism } from 'node:os'
import type { ReplayResult } from '../../core/replay.ts'
import type { ReplaySample } from '../../core/stage.ts'
import { oneLine } from '../../lib/visible.ts'
import { nameRow, trialsOfRows } from '../replay/from-rows.ts'
import { performReplay, type ReplayedRow } from '../replay/perform-replay.ts'
import { settingsFor } from '../replay/settings-for.ts'
import { summarize } from '../replay/summary.ts'
import type { RolloutAsk } from './roll-out.ts'

/** Replays rows that a recipe is about to write, using its rollout jobs and its tasks. */
export async function replayRows(
  { runDir, rows, tasks, signal }: ReplaySample,
  { passEnv }: Pick<RolloutAsk, 'passEnv'> = {},
): Promise<ReplayResult> {
  const trials = await trialsOfRows(rows.map(nameRow), { runDir, settingsOf: () => settingsFor(null, {}), signal })
  const nConcurrent = Math.min(4, availableParallelism())
  const replayed = await performReplay({ trials, packed: tasks, nConcurrent, verify: false, passEnv, signal })
  const { holds, diverged } = summarize(replayed).counts
  const missing = rows.length - replayed.length
  const trouble = replayed.find(({ verdict }) => verdict.kind !== 'holds')
  return {
    rows: rows.length,
    holds,
    diverged,
    cannot: rows.length - holds - diverged,
    trouble: trouble
      ? oneLine(tell(trouble)).slice(0, 400)
      : missing > 0
        ? `${missing} rows have no job to replay`
        : null,
  }
}

function tell({ id, verdict }: ReplayedRow): string {
  if (verdict.kind === 'cannot-be-replayed') return `${id} cannot be replayed: ${verdict.reason}`
  if (verdict.kind === 'holds') return ''
  const { turn, what, expected, got } = verdict
  return `${id} diverged at turn ${turn}: ${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`
}
