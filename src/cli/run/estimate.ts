import { type AgentEstimate, estimateRun } from '../../app/job/estimate.ts'
import type { PlannedJob } from '../../app/job/prepare-job.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { printJson } from '../output.ts'

/** Prints what a job would take, and the numbers that estimate is based on. */
export async function printEstimateOf(
  { config, tasks }: PlannedJob,
  from: string | null,
  json: boolean,
): Promise<void> {
  const estimates = await estimateRun(config, tasks.length, from)
  if (json) printJson({ schema: 'estimate/1', estimates })
  else process.stdout.write(`${estimates.map(render).join('\n\n')}\n`)
}

function render({ agent, ...estimate }: AgentEstimate): string {
  const cost = estimate.costUsd === null ? 'unknown' : `${estimate.costUsd.toFixed(2)} USD`
  const rows = [
    ['trials', String(estimate.trials)],
    ['tokens in', `${renderCount(estimate.inputTokens)}, of which ${renderCount(estimate.cacheTokens)} cached`],
    ['tokens out', renderCount(estimate.outputTokens)],
    ['cost', cost],
    ['time', renderDuration(estimate.hours * 3600)],
  ] as const
  const lines = rows.map(([title, value]) => `  ${title.padEnd(10)}  ${value}`)
  return [agent, ...lines, '  assuming', ...estimate.assumptions.map((line) => `    ${line}`)].join('\n')
}
