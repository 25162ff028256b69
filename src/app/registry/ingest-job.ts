import { userInfo } from 'node:os'
import { basename, dirname } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { TrialRecord } from '../../core/trial.ts'
import { renderJobConfig } from '../../formats/harbor-job/job-config.ts'
import { version } from '../../lib/version.ts'
import { batchRows, type Database } from '../../registry/database.ts'
import type { NamedVersion } from '../../registry/entities.ts'
import { finishRun, type Run, type RunResult, startRun } from '../../registry/runs.ts'
import { addTrials, type TrialOfRun } from '../../registry/trials.ts'
import { isFinished, type JobDir } from '../../store/job-dir.ts'
import { openTrialStore } from '../../store/open-store.ts'
import { modelName } from './model-name.ts'

export interface JobIngestion {
  readonly benchmark?: string | undefined
  readonly model?: string | undefined
  readonly isPublic: boolean
  /** Where the job's traces can be read. */
  readonly tracesLink?: string | undefined
  readonly onTrials?: ((trials: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface IngestedJob {
  readonly path: string
  readonly name: string
  /** Trials that are new in the registry. */
  readonly added: number
  readonly trials: number
  /** One for each agent, model and benchmark of the job. */
  readonly runs: readonly ({
    readonly jobId: string
    readonly agent: string
    readonly model: string | null
    readonly benchmark: string
  } & RunResult)[]
}

interface OpenRun extends Run {
  readonly agent: string
  readonly model: string | null
  readonly benchmark: string
}

/**
 * Registers a job, ours or Harbor's, and its finished trials, a few hundred per transaction. Results are computed last:
 * a run whose ingestion was interrupted stays `started` until the same command completes it.
 */
export async function ingestJob(database: Database, job: JobDir, ask: JobIngestion): Promise<IngestedJob> {
  const sourceId = sourceIdOf(job)
  if (sourceId === null)
    throw new UserError(`${job.dir}: expected a job with results, got one that has not started`, 'run it first')
  const runs = new Map<string, OpenRun>()
  let [added, trials] = [0, 0]
  for await (const records of batchesOf(job)) {
    ask.signal?.throwIfAborted()
    added += await database.transaction(async (queries) => {
      const batch: TrialOfRun[] = []
      for (const record of records) {
        const facts = factsOf(record, job, ask)
        const key = JSON.stringify([facts.agent, facts.model, facts.benchmark])
        const run = runs.get(key) ?? { ...(await startRun(queries, newRun(facts))), ...namesOf(facts) }
        runs.set(key, run)
        batch.push({ ...run, provider: facts.provider, record })
      }
      return addTrials(queries, batch)
    })
    trials += records.length
    ask.onTrials?.(trials)
  }
  const planned = job.result?.totalTrials ?? null
  const end = {
    endedAt: job.result?.finishedAt ?? null,
    expected: runs.size === 1 ? planned : null,
    finished: isFinished(job) && (planned === null || trials >= planned),
  }
  const results = await database.transaction(async (queries) => {
    const scores = []
    for (const { jobId, agent, model, benchmark } of runs.values())
      scores.push({ jobId, agent, model, benchmark, ...(await finishRun(queries, jobId, end)) })
    return scores
  })
  return { path: job.dir, name: job.name, added, trials, runs: results }

  function newRun({ agent, model, benchmark }: Facts) {
    return {
      sourceId: sourceId ?? '',
      jobName: job.name,
      agent,
      model,
      benchmark,
      location: job.dir,
      username: userName(),
      packageVersion: job.own === null ? null : version(),
      config: renderJobConfig(job.config),
      attempts: job.config.nAttempts,
      startedAt: job.own?.startedAt ?? job.result?.startedAt ?? '',
      isPublic: ask.isPublic,
      tracesLink: ask.tracesLink ?? null,
    }
  }
}

/** The id that a job carries itself; null for one that has not started. */
export function sourceIdOf({ own, result }: JobDir): string | null {
  return own?.id ?? result?.id ?? null
}

interface Facts {
  readonly agent: NamedVersion
  readonly model: string | null
  readonly provider: string
  readonly benchmark: NamedVersion
}

function factsOf(record: TrialRecord, { config }: JobDir, ask: JobIngestion): Facts {
  const given = record.agent.model ?? record.config.agent.modelName
  const { name, provider } = given === null ? { name: null, provider: '' } : modelName(given)
  return {
    agent: { name: record.agent.name, version: record.agent.version },
    model: name === null ? null : (ask.model ?? name),
    provider,
    benchmark: ask.benchmark === undefined ? benchmarkOf(record, config) : parseBenchmark(ask.benchmark),
  }
}

/**
 * The dataset that a trial's task came from, with its version if the job names one. Pipelines write their tasks to
 * `OUTPUT/tasks`: these are named after OUTPUT, or all of them would be one benchmark.
 */
function benchmarkOf({ task, config }: TrialRecord, { datasets }: JobDir['config']): NamedVersion {
  const source = task.source ?? 'adhoc'
  const dataset = datasets.find((one) => one.name === source || (one.path !== null && basename(one.path) === source))
  const folder = dirname(config.task.path ?? '')
  const isOutput = source === 'tasks' && dataset?.name !== source && basename(folder) === source
  const name = (isOutput && basename(dirname(folder))) || source
  return { name, version: dataset?.version ?? dataset?.ref ?? '' }
}

/** NAME or NAME@VERSION. */
export function parseBenchmark(text: string): NamedVersion {
  const at = text.lastIndexOf('@')
  const [name, version] = at <= 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
  if (name === '' || (at > 0 && version === ''))
    throw new UserError(`--benchmark: expected NAME or NAME@VERSION, got ${JSON.stringify(text)}`, 'correct the name')
  return { name, version }
}

function namesOf({ agent, model, benchmark }: Facts) {
  return { agent: agent.name, model, benchmark: benchmark.name }
}

async function* batchesOf(job: JobDir): AsyncGenerator<TrialRecord[], void, void> {
  const store = await openTrialStore(job.dir, job.layout)
  try {
    let batch: TrialRecord[] = []
    for await (const record of store.records()) {
      batch.push(record)
      if (batch.length < batchRows) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  } finally {
    await store.close()
  }
}

/** Null if the user has no name on this machine. */
function userName(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}
