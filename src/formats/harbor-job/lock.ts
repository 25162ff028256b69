import type { AgentConfig, EnvironmentConfig, RetryConfig, TimeoutMultipliers, VerifierConfig } from '../../core/job.ts'
import { type HostEnv, redactArgv, redactEnv, redactKwargs } from '../../core/redact.ts'
import {
  agentDocument,
  environmentDocument,
  multipliersDocument,
  retryDocument,
  verifierDocument,
} from './config-render.ts'
import { Float, renderUtc, write } from './python-json.ts'

export interface TaskLock {
  readonly name: string
  readonly type: 'local' | 'git' | 'package'
  /** The packager's content hash in hex. */
  readonly digest: string
  readonly source: string | null
  readonly path: string | null
  readonly gitUrl: string | null
  readonly gitCommitId: string | null
}

/** One planned trial, with everything that determines what it does. */
export interface TrialLock {
  readonly task: TaskLock
  readonly timeoutMultipliers: TimeoutMultipliers
  readonly agent: AgentConfig
  readonly environment: EnvironmentConfig
  readonly verifier: VerifierConfig
}

/** What a job will do, written before it starts. */
export interface JobLock {
  /** UTC. */
  readonly createdAt: string
  readonly invocation: readonly string[] | null
  readonly nConcurrentTrials: number
  readonly retry: RetryConfig
  readonly trials: Iterable<TrialLock>
}

/**
 * Yields the text of lock.json (version 1, without nulls and secrets) in pieces, because 100K trials make a large file.
 */
export function* renderJobLock(lock: JobLock, host: HostEnv = process.env): Generator<string, void, void> {
  const head = {
    schema_version: 1,
    created_at: renderUtc(lock.createdAt),
    harbor: {},
    invocation: lock.invocation && redactArgv(lock.invocation, host),
    n_concurrent_trials: lock.nConcurrentTrials,
    retry: retryDocument(lock.retry),
  }
  yield write(withoutNulls(head), '').replace(/\n}$/, ',\n    "trials": [')
  let first = true
  for (const trial of lock.trials) {
    yield `${first ? '' : ','}\n        ${write(withoutNulls(trialDocument(trial, host)), '        ')}`
    first = false
  }
  yield first ? ']\n}' : '\n    ]\n}'
}

function trialDocument({ task, timeoutMultipliers, agent, environment, verifier }: TrialLock, host: HostEnv): object {
  const hide = <T extends AgentConfig | EnvironmentConfig>(config: T): T => ({
    ...config,
    env: redactEnv(config.env, host),
    kwargs: redactKwargs(config.kwargs, host),
  })
  return {
    task: {
      name: task.name,
      type: task.type,
      digest: `sha256:${task.digest}`,
      source: task.source,
      path: task.path,
      git_url: task.gitUrl,
      git_commit_id: task.gitCommitId,
    },
    ...multipliersDocument(timeoutMultipliers),
    agent: agentDocument(hide(agent)),
    environment: environmentDocument(hide(environment)),
    verifier: verifierDocument({ ...verifier, env: redactEnv(verifier.env, host) }),
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null || value instanceof Float) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === null ? [] : [[key, withoutNulls(item)]])),
  )
}
