import { dirname, join } from 'node:path'
import type { GenerationSummary } from '../../app/generate/summary.ts'
import type { GenerationRequest, GenerationResult } from '../../app/generate.ts'
import { nearPath } from '../../lib/files.ts'
import { oneLine } from '../../lib/visible.ts'
import { note, printJson } from '../output.ts'

/** Reports what was generated, as text or JSON; the exit code is 3 after an infrastructure failure. */
export function reportGeneration(summary: GenerationSummary, request: GenerationRequest, json: boolean): void {
  if (summary.status !== 'success') process.exitCode = 3
  if (json) printJson(summary)
  else tell(summary, request)
}

function tell(summary: GenerationSummary, request: GenerationRequest): void {
  const { tasks, traces } = summary
  if (tasks) tellTasks(tasks)
  if (traces) tellTraces(traces, request)
  for (const { uploadedRepo } of [tasks, traces].filter((result) => result !== null))
    if (uploadedRepo !== null) process.stdout.write(`published: ${uploadedRepo}\n`)
}

function tellTasks({ datasetPath, metadata }: GenerationResult): void {
  const rejects = Object.entries(Object(metadata.rejects) as Record<string, number>)
  for (const [reason, count] of rejects) note(`skipped, ${oneLine(reason)}: ${count}`)
  if (rejects.length > 0) note(`why: ${nearPath(join(dirname(datasetPath), 'rejects.jsonl'))}`)
  if (Number(metadata.failed) > 0)
    note(`${metadata.failed} rows hit an infrastructure failure; run the same command again to retry them`)
  const rows = metadata.rows === undefined ? '' : `${metadata.tasks} tasks of ${metadata.rows} rows: `
  process.stdout.write(`${rows}${nearPath(datasetPath)}\n`)
}

function tellTraces({ datasetPath, metadata }: GenerationResult, { trace }: GenerationRequest): void {
  const mean = typeof metadata.meanReward === 'number' ? `, mean reward ${metadata.meanReward.toFixed(3)}` : ''
  const rows = trace.evalOnly ? '' : `${Object(metadata.exported).rows ?? 0} traces of `
  process.stdout.write(`${rows}${metadata.trials ?? '?'} trials${mean}: ${nearPath(datasetPath)}\n`)
}
