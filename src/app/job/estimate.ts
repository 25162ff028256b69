import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import type { ModelFacts } from '../../core/model.ts'
import type { TrialRecord } from '../../core/trial.ts'
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
import { engineOf } from './configured.ts'

/** What one agent's trials would take, and the numbers this is based on. */
export interface AgentEstimate extends Estimate {
  readonly agent: string
}

/** Estimates a job from typical numbers or those of an earlier job; contacts no server and writes nothing. */
export async function estimateRun(
  config: JobConfig,
  nTasks: number,
  earlierJob: string | null,
): Promise<readonly AgentEstimate[]> {
  const each = earlierJob === null ? assumeConversation(usualConversation) : await averagesOf(earlierJob)
  return Promise.all(
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
}

/** The assumptions for a trial whose agent calls no model. */
function unasked({ sec }: TrialAssumptions): TrialAssumptions {
  return { turns: 0, inputTokens: 0, cacheTokens: 0, outputTokens: 0, sec, source: `no model calls, ${sec} s` }
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
    `${jobDir}: expected trials that recorded their token usage, found none`,
    'leave out the job to estimate from typical numbers',
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
