import { z } from 'zod'
import * as part from '../src/formats/harbor-job/config-schema.ts'
import type { JobLock, TaskLock, TrialLock } from '../src/formats/harbor-job/lock.ts'
import { migrate, parseConfig, readJsonDocument } from '../src/formats/harbor-job/read-config.ts'
import { time } from '../src/formats/harbor-job/trial-result-schema.ts'

const taskLockSchema = z
  .object({
    name: z.string(),
    type: z.enum(['local', 'git', 'package']),
    digest: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'sha256: and 64 hex digits'),
    source: part.textOrNull,
    path: part.textOrNull,
    git_url: part.textOrNull,
    git_commit_id: part.textOrNull,
  })
  .transform(
    (raw): TaskLock => ({
      name: raw.name,
      type: raw.type,
      digest: raw.digest.slice('sha256:'.length),
      source: raw.source,
      path: raw.path,
      gitUrl: raw.git_url,
      gitCommitId: raw.git_commit_id,
    }),
  )

const trialLockSchema = z.object({
  task: taskLockSchema,
  ...part.multiplierKeys,
  agent: part.agentSchema,
  environment: part.environmentSchema,
  verifier: part.verifierSchema,
})

const lockSchema = z.object({
  schema_version: z.int(),
  created_at: time,
  invocation: z.array(z.string()).nullable().default(null),
  n_concurrent_trials: z.int(),
  retry: part.retrySchema,
  trials: z.array(z.preprocess((raw) => migrate(raw).value, trialLockSchema)).default([]),
})

/**
 * Reads a lock.json of any version so far. The product only writes them, in a form that Harbor must be able to read.
 */
export function parseJobLock(
  text: string,
  path = 'lock.json',
): JobLock & { readonly schemaVersion: number; readonly trials: readonly TrialLock[] } {
  const { value: raw } = parseConfig(
    lockSchema,
    readJsonDocument(text, path),
    path,
    'a lock has the keys of a Harbor job lock.json',
  )
  return {
    schemaVersion: raw.schema_version,
    createdAt: raw.created_at,
    invocation: raw.invocation,
    nConcurrentTrials: raw.n_concurrent_trials,
    retry: raw.retry,
    trials: raw.trials.map(({ task, agent, environment, verifier, ...rest }) => ({
      task,
      timeoutMultipliers: part.toMultipliers(rest),
      agent,
      environment,
      verifier,
    })),
  }
}
