import type { RunOptions } from '../../app/flags/run-options.ts'
import { engineOf } from '../../app/job/agent-engine.ts'
import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { renderCount, renderDuration } from '../../lib/show-numbers.ts'
import { makeEngine } from '../../plugins/make.ts'
import {
  assumeConversation,
  assumeFromRecords,
  type Estimate,
  estimateJob,
  type TrialAssumptions,
  usualConversation,
} from '../../stats/estimate.ts'
import { loadJobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { printJson } from '../output.ts'

/** Says what a job would take, and on which numbers that stands; asks no server and writes nothing. */
export async function printEstimate(config: JobConfig, nTasks: number, options: RunOptions): Promise<void> {
  const each =
    typeof options.estimate === 'string' ? await averagesOf(options.estimate) : assumeConversation(usualConversation)
  const estimates = await Promise.all(
    config.agents.map(async (agent) => {
      const trials = nTasks * config.nAttempts
      const engine = await engineOf(agent)
      const facts = engine && (await factsOf(engine.name, engine.options, engine.model))
      const shown = agent.modelName ?? engine?.model ?? 'no model'
      const named = `${agent.name ?? agent.importPath}, ${shown}`
      if (engine) return { agent: named, ...estimateJob(trials, config.nConcurrentTrials, facts, each) }
      return { agent: named, ...estimateJob(trials, config.nConcurrentTrials, null, unasked(each)), costUsd: 0 }
    }),
  )
  if (options.json) return printJson({ schema: 'estimate/1', estimates })
  process.stdout.write(`${estimates.map(render).join('\n\n')}\n`)
}

/** What a trial takes whose agent asks no model. */
function unasked({ sec }: TrialAssumptions): TrialAssumptions {
  return { turns: 0, inputTokens: 0, cacheTokens: 0, outputTokens: 0, sec, source: `no model is asked, ${sec} s` }
}

async function averagesOf(jobDir: string) {
  const job = await loadJobDir(jobDir)
  const store = await openTrialStore(job.dir, job.layout)
  const records: TrialRecord[] = []
  for await (const record of store.records()) records.push(record)
  await store.close()
  const averages = assumeFromRecords(records)
  if (averages) return averages
  throw new UserError(
    `${jobDir}: expected trials that tell how many tokens they used, found none`,
    'leave the job out to estimate by usual numbers',
  )
}

async function factsOf(
  name: string,
  options: Readonly<Record<string, unknown>>,
  model: string | null,
): Promise<ModelFacts | null> {
  if (model === null) return null
  const engine = await makeEngine(name, options)
  return engine.client(model).facts
}

function render({ agent, ...estimate }: Estimate & { readonly agent: string }): string {
  const cost = estimate.costUsd === null ? 'not known' : `${estimate.costUsd.toFixed(2)} USD`
  const rows = [
    ['trials', String(estimate.trials)],
    ['tokens in', `${renderCount(estimate.inputTokens)}, of which ${renderCount(estimate.cacheTokens)} from a cache`],
    ['tokens out', renderCount(estimate.outputTokens)],
    ['cost', cost],
    ['time', renderDuration(estimate.hours * 3600)],
  ] as const
  const lines = rows.map(([title, value]) => `  ${title.padEnd(10)}  ${value}`)
  return [agent, ...lines, '  assuming', ...estimate.assumptions.map((line) => `    ${line}`)].join('\n')
}
