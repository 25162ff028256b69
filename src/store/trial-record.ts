import { z } from 'zod'
import { boundaries } from '../core/errors.ts'
import type { TrialConfig } from '../core/job.ts'
import { type HostEnv, redactTrialConfig } from '../core/redact.ts'
import type { TrialRecord } from '../core/trial.ts'
import { parseJson, readJson } from '../lib/parse-json.ts'

const textOrNull = z.string().nullable()
const numberOrNull = z.number().nullable()
const texts = z.record(z.string(), z.string())
const values = z.record(z.string(), z.unknown())
const rewards = z.record(z.string(), z.number()).nullable()

const taskConfig = z.object({
  path: textOrNull,
  gitUrl: textOrNull,
  gitCommitId: textOrNull,
  name: textOrNull,
  ref: textOrNull,
  overwrite: z.boolean(),
  downloadDir: textOrNull,
  source: textOrNull,
})

const agentConfig = z.object({
  name: textOrNull,
  importPath: textOrNull,
  modelName: textOrNull,
  overrideTimeoutSec: numberOrNull,
  overrideSetupTimeoutSec: numberOrNull,
  maxTimeoutSec: numberOrNull,
  kwargs: values,
  env: texts,
})

const environmentConfig = z.object({
  type: textOrNull,
  importPath: textOrNull,
  forceBuild: z.boolean(),
  delete: z.boolean(),
  overrideCpus: numberOrNull,
  overrideMemoryMb: numberOrNull,
  overrideStorageMb: numberOrNull,
  overrideGpus: numberOrNull,
  suppressOverrideWarnings: z.boolean(),
  mountsJson: z.array(z.unknown()).nullable(),
  env: texts,
  kwargs: values,
})

const verifierConfig = z.object({
  overrideTimeoutSec: numberOrNull,
  maxTimeoutSec: numberOrNull,
  env: texts,
  disable: z.boolean(),
  rewardPrecedence: z.enum(['txt', 'json']),
  agentMayModifySystem: z.literal(true).exactOptional(),
})

const artifact = z.object({
  source: z.string(),
  destination: z.string().exactOptional(),
  exclude: z.array(z.string()),
  service: z.string().exactOptional(),
})

const trialConfig: z.ZodType<TrialConfig> = z.object({
  task: taskConfig,
  trialName: z.string(),
  trialsDir: z.string(),
  timeoutMultipliers: z.object({
    all: z.number(),
    agent: numberOrNull,
    verifier: numberOrNull,
    agentSetup: numberOrNull,
    environmentBuild: numberOrNull,
  }),
  agent: agentConfig,
  environment: environmentConfig,
  verifier: verifierConfig,
  artifacts: z.array(z.union([z.string(), artifact])),
  jobId: textOrNull,
})

const exit = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('finished') }),
  z.object({ kind: z.literal('limit'), limit: z.enum(['time', 'turns', 'context', 'cost', 'storage']) }),
  z.object({ kind: z.literal('exited'), exitCode: z.number() }),
])

const failure = z.object({
  boundary: z.enum(boundaries),
  code: z.string(),
  message: z.string(),
  stack: z.string(),
  retryable: z.boolean(),
  occurredAt: z.string(),
})

const end = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('scored'), rewards, exit }),
  z.object({ kind: z.literal('failed'), failure }),
  z.object({ kind: z.literal('cancelled') }),
])

const usage = z
  .object({ inputTokens: numberOrNull, cacheTokens: numberOrNull, outputTokens: numberOrNull, costUsd: numberOrNull })
  .nullable()

const span = z.object({ startedAt: z.string(), finishedAt: textOrNull }).nullable()

const system = z.object({
  restored: z.object({
    files: z.array(z.object({ path: z.string(), change: z.enum(['modified', 'added', 'removed']) })),
    total: z.number(),
  }),
  onImage: rewards,
  onAgent: rewards.exactOptional(),
  differ: z.boolean(),
})

const step = z.object({
  name: z.string(),
  rewards,
  exit: exit.nullable(),
  failure: failure.nullable(),
  usage,
  metadata: values.nullable(),
  agentExecution: span,
  verifier: span,
  system: system.exactOptional(),
})

const sandboxFacts = z.object({
  provider: z.string(),
  limits: z.object({ cpu: z.boolean(), memory: z.boolean(), pids: z.boolean(), storage: z.boolean() }),
  notes: z.array(z.string()),
  startedBy: z.enum(['starter', 'shell']).exactOptional(),
})

const resumed = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('replayed'),
    turns: z.number(),
    inputTokens: z.number(),
    cacheTokens: z.number(),
    outputTokens: z.number(),
    costUsd: numberOrNull,
  }),
  z.object({
    kind: z.literal('diverged'),
    turns: z.number(),
    step: textOrNull,
    turn: z.number(),
    message: numberOrNull,
    what: z.string(),
    expected: z.string(),
    got: z.string(),
  }),
  z.object({ kind: z.literal('not-replayed'), reason: z.string() }),
])

/** A trial's record.json; data from disk is validated here before it is used. */
export const trialRecordSchema: z.ZodType<TrialRecord> = z.object({
  schema: z.literal('trial/1'),
  id: z.string(),
  name: z.string(),
  task: z.object({ name: z.string(), path: z.string(), source: textOrNull, digest: z.string(), checksum: z.string() }),
  agent: z.object({ name: z.string(), version: z.string(), model: textOrNull }),
  attempt: z.number(),
  config: trialConfig,
  end,
  isolation: z.enum(['fresh', 'shared', 'separate']).nullable(),
  bothRewardFiles: z.boolean(),
  system: system.exactOptional(),
  usage,
  metadata: values.nullable(),
  sandbox: sandboxFacts.nullable(),
  spans: z.object({ environmentSetup: span, agentSetup: span, agentExecution: span, verifier: span }),
  steps: z.array(step).nullable(),
  retries: z.number(),
  resumed: resumed.exactOptional(),
  startedAt: z.string(),
  finishedAt: z.string(),
})

/** The text of our own record of a trial, without secrets. */
export function renderTrialRecord(record: TrialRecord, host: HostEnv = process.env, indent = 2): string {
  return JSON.stringify({ ...record, config: redactTrialConfig(record.config, host) }, null, indent)
}

/** Our own record of a trial, or null when the text is cut short or has another schema. */
export function parseTrialRecord(text: string): TrialRecord | null {
  const result = trialRecordSchema.safeParse(parseJson(text))
  return result.success ? result.data : null
}

/** The trial's id in a complete result or record; Harbor does not write them atomically. */
export function idIn(text: string): string | null {
  try {
    const { id } = Object(readJson(text))
    return typeof id === 'string' ? id : null
  } catch {
    return null
  }
}

/** In a finished trial's directory: files about to replace others there. It remains only after a kill. */
export const replacementName = '.replacement'
