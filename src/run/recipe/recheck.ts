import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { WholeFilter } from '../../core/stage.ts'
import { selectAllNumbered } from '../../store/rows/shard-sql.ts'
import type { StepOutput } from '../../store/rows/step-dir.ts'
import { judgeRows } from './judge-rows.ts'
import type { LiveStage } from './resolve.ts'
import { findDrops, isFilter } from './run-shards.ts'
import { type Reject, readRows, type StepContext, throughStages } from './step-run.ts'
import { closeViews, openViews } from './views.ts'

/**
 * Applies every filter above a sink again to the rows the sink is about to write. If one of them would drop a row, the
 * run ends. Filters on only some branches are skipped: they never saw the rows of the others.
 */
export async function recheck(
  at: StepContext,
  sink: LiveStage,
  stages: readonly LiveStage[],
  input: StepOutput,
): Promise<void> {
  const filters = stages.filter(({ id, takes, gives }) => {
    return takes === input.manifest.kind && gives === takes && leadsThrough(id, sink, stages)
  })
  const apart = { ...at, contextOf: (stage: LiveStage) => contextApart(at, stage) }
  const leak = (await sqlLeak(at, filters, input)) ?? (await streamLeak(apart, filters, input))
  if (leak !== null) throw leaked(leak)
  const inOrder = await orderedLeak(apart, filters, input)
  if (inOrder !== null) throw leaked(inOrder)
  for (const live of filters) {
    const found = live.stage.kind === 'set-filter' ? await wholeLeak(apart, live, live.stage, input) : null
    if (found !== null) throw leaked(found)
  }
}

type Leak = Pick<Reject, 'id' | 'stage' | 'reason'>

/** Whether every row that reaches a stage has passed through another. */
function leadsThrough(id: string, { from }: LiveStage, stages: readonly LiveStage[]): boolean {
  return (
    from.length > 0 &&
    from.every((name) => {
      const above = stages.find((stage) => stage.id === name)
      return name === id || (above !== undefined && leadsThrough(id, above, stages))
    })
  )
}

/** Keeps what a stage reported when it made the rows. */
function contextApart(at: StepContext, stage: LiveStage) {
  const context = at.contextOf(stage)
  return { ...context, workDir: join(context.workDir, 'recheck'), saveResult: async () => {} }
}

/** Applies all SQL filters in one scan. */
async function sqlLeak({ sql }: StepContext, stages: readonly LiveStage[], { shards }: StepOutput) {
  const filters = stages.filter(({ form }) => form === 'sql-filter')
  if (filters.length === 0) return null
  const rows = selectAllNumbered(shards.map((shard) => ({ shard, first: 0 })))
  const [row] = await sql.rows(`${findDrops(filters, rows)} LIMIT 1`)
  return row ? { id: String(row.id), stage: String(row.stage), reason: String(row.reason) } : null
}

/** Applies all row-by-row filters in sequence, in one pass. */
async function streamLeak(at: StepContext, filters: readonly LiveStage[], { shards, manifest }: StepOutput) {
  const streams = filters.filter((live) => live.form === 'stream' && isFilter(live))
  if (streams.length === 0) return null
  for (const shard of shards) {
    const rejects: Reject[] = []
    for await (const _ of throughStages(readRows(at.sql, manifest.kind, shard), streams, at, { rejects, tallies: [] }))
      if (rejects.length > 0) break
    if (rejects[0]) return rejects[0]
  }
  return null
}

/** Applies all ordered filters in one scan. */
async function orderedLeak({ sql, contextOf }: StepContext, filters: readonly LiveStage[], input: StepOutput) {
  const ordered = filters.filter(({ stage }) => stage.kind === 'ordered-filter')
  if (ordered.length === 0) return null
  const views = await openViews(sql, [input])
  try {
    const [view] = views
    const judged = view ? await judgeRows(sql, view, ordered, contextOf) : []
    for (const [i, { drops, end }] of judged.entries()) {
      await end()
      const [row] = await sql.rows(`SELECT id, reason FROM ${drops} LIMIT 1`)
      if (row) return { id: String(row.id), stage: ordered[i]?.id ?? '', reason: String(row.reason) }
    }
    return null
  } finally {
    await closeViews(sql, views)
  }
}

async function wholeLeak({ sql, contextOf }: StepContext, live: LiveStage, filter: WholeFilter, input: StepOutput) {
  const views = await openViews(sql, [input])
  try {
    const [view] = views
    const table = view && (await filter.findDrops(view, { ...contextOf(live), sql }))
    const [row] = await sql.rows(`SELECT id, reason FROM ${table} LIMIT 1`)
    return row ? { id: String(row.id), stage: live.id, reason: String(row.reason) } : null
  } finally {
    await closeViews(sql, views)
  }
}

function leaked({ id, stage, reason }: Leak): BoundaryError {
  return new BoundaryError(
    'store',
    `stage ${stage}: row ${id ?? 'unknown'} of the result should have been dropped (${reason})`,
    { code: 'FilterLeak', retryable: false },
  )
}
