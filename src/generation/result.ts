import { GenerationError } from './errors.ts'
import type { MadeTasks } from './make-tasks.ts'
import type { GenerationResult } from './request.ts'

/** What making tasks came to, as the result of a stage; a set without a single task is a failure. */
export function resultOf(made: MadeTasks): GenerationResult {
  const { tasksDir, ...counts } = made
  return {
    datasetPath: tasksDir,
    status: made.tasks === 0 ? 'failed' : made.failed > 0 ? 'partial' : 'success',
    uploadedRepo: null,
    artifacts: {},
    metadata: counts,
  }
}

/** A folder as a result, for generators that say no more than where their tasks are. */
export function asResult(made: GenerationResult | string): GenerationResult {
  if (typeof made !== 'string') return made
  return { datasetPath: made, status: 'success', uploadedRepo: null, artifacts: {}, metadata: {} }
}

/** Nothing goes on from a dataset that is empty: it names the commonest reasons instead. */
export function refuseEmpty(name: string, { status, metadata }: GenerationResult): void {
  if (status !== 'failed') return
  const reasons = Object.entries(Object(metadata.rejects) as Record<string, number>).sort(([, a], [, b]) => b - a)
  const why = reasons
    .slice(0, 3)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ')
  throw new GenerationError(
    `${name}: expected at least one task, got none of ${metadata.rows ?? 0} rows${why === '' ? '' : ` (${why})`}; rejects.jsonl says more`,
    { stage: 'generate', retryable: false },
  )
}
