import type { SqlSession } from '../../../core/whole-set.ts'
import { sqlText } from '../../../lib/duckdb.ts'

export type Side = 'train' | 'validation'

/** How rows are split: SQL conditions over their columns, by side. */
export interface Split {
  readonly where: Readonly<Record<Side, string>>
  /** Source tasks on each side. */
  readonly tasks: Readonly<Record<Side, number>>
}

interface SplitRequest {
  readonly view: string
  readonly kind: 'task' | 'trace'
  readonly seed: number
  /** The share of source tasks that is held out. */
  readonly validation: number
}

/**
 * Puts every source task, with everything made from it, on one side. A hash with the seed decides which, so that a
 * condition on a single row is enough and nothing has to be looked up.
 */
export async function planSplit(sql: SqlSession, { view, kind, seed, validation }: SplitRequest): Promise<Split> {
  const hash = `md5(${sqlText(`split ${seed} `)} || ${sourceTask(kind)})`
  const [{ groups = 0 } = {}] = await sql.rows(`SELECT count(DISTINCT ${hash}) AS groups FROM ${view}`)
  const total = Number(groups)
  const held = validation > 0 ? Math.min(total - 1, Math.max(1, Math.round(total * validation))) : 0
  if (held < 1) return { where: { train: 'true', validation: 'false' }, tasks: { train: total, validation: 0 } }
  const [last = {}] = await sql.rows(
    `SELECT hash FROM (SELECT DISTINCT ${hash} AS hash FROM ${view}) ORDER BY hash LIMIT 1 OFFSET ${held - 1}`,
  )
  const limit = sqlText(String(last.hash))
  return {
    where: { train: `${hash} > ${limit}`, validation: `${hash} <= ${limit}` },
    tasks: { train: total - held, validation: held },
  }
}

/** The source row that a task was made from; a task without that information is its own source. */
function sourceTask(kind: 'task' | 'trace'): string {
  const own = kind === 'trace' ? ['task_digest', 'task', 'id'] : ['digest']
  return `COALESCE(json_extract_string(lineage, '$.rowDigest'), ${own.join(', ')})`
}

/** The order in which nested samples take rows: by hash, and for copies with the same id, by number. */
export function sampleOrder(seed: number): string {
  return `md5(${sqlText(`sample ${seed} `)} || id) || printf('%015d', row)`
}
