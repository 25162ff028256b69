import { z } from 'zod'
import type {
  AgentConfig,
  DatasetConfig,
  EnvironmentConfig,
  MetricConfig,
  RetryConfig,
  TaskConfig,
  TimeoutMultipliers,
  VerifierConfig,
} from '../../core/job.ts'
import { fromHarborEnvironment } from './config-render.ts'

// Harbor's parser accepts "4" for 4, and an empty YAML key for an absent one; so does ours.
const asNumber = (value: unknown) =>
  typeof value === 'string' && /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(value) ? Number(value) : value
const absent = (value: unknown) => (value === null ? undefined : value)

/** A number with a default. */
const number = (fallback: number) => z.preprocess(asNumber, z.number().default(fallback))
const numberOrNull = z.preprocess(asNumber, z.number().nullable().default(null))
export const whole = (least: number, fallback: number) => z.preprocess(asNumber, z.int().min(least).default(fallback))
const wholeOrNull = z.preprocess(asNumber, z.int().min(0).nullable().default(null))
export const textOrNull = z.string().nullable().default(null)
export const flag = (fallback: boolean) => z.preprocess(absent, z.boolean().default(fallback))
export const listOf = <T extends z.ZodType>(item: T) => z.preprocess(absent, z.array(item).default([]))
const values = z.preprocess(absent, z.record(z.string(), z.unknown()).default({}))
const texts = z.preprocess(absent, z.record(z.string(), z.string()).default({}))
const textsOrNull = z.array(z.string()).nullable().default(null)

/** The five multiplier keys, which are flat in jobs and trials. */
export const multiplierKeys = {
  timeout_multiplier: number(1),
  agent_timeout_multiplier: numberOrNull,
  verifier_timeout_multiplier: numberOrNull,
  agent_setup_timeout_multiplier: numberOrNull,
  environment_build_timeout_multiplier: numberOrNull,
}

/** The same five as one object. */
export function toMultipliers(
  raw: { readonly [K in keyof typeof multiplierKeys]: z.output<(typeof multiplierKeys)[K]> },
): TimeoutMultipliers {
  return {
    all: raw.timeout_multiplier,
    agent: raw.agent_timeout_multiplier,
    verifier: raw.verifier_timeout_multiplier,
    agentSetup: raw.agent_setup_timeout_multiplier,
    environmentBuild: raw.environment_build_timeout_multiplier,
  }
}

export const agentSchema = z
  .strictObject({
    name: textOrNull,
    import_path: textOrNull,
    model_name: textOrNull,
    override_timeout_sec: numberOrNull,
    override_setup_timeout_sec: numberOrNull,
    max_timeout_sec: numberOrNull,
    kwargs: values,
    env: texts,
  })
  .transform(
    (raw): AgentConfig => ({
      name: raw.name ?? (raw.import_path === null ? 'oracle' : null),
      importPath: raw.import_path,
      modelName: raw.model_name,
      overrideTimeoutSec: raw.override_timeout_sec,
      overrideSetupTimeoutSec: raw.override_setup_timeout_sec,
      maxTimeoutSec: raw.max_timeout_sec,
      kwargs: raw.kwargs,
      env: raw.env,
    }),
  )

export const environmentSchema = z
  .strictObject({
    type: textOrNull,
    import_path: textOrNull,
    force_build: flag(false),
    delete: flag(true),
    override_cpus: wholeOrNull,
    override_memory_mb: wholeOrNull,
    override_storage_mb: wholeOrNull,
    override_gpus: wholeOrNull,
    suppress_override_warnings: flag(false),
    mounts_json: z.array(z.unknown()).nullable().default(null),
    env: texts,
    kwargs: values,
  })
  .transform(
    (raw): EnvironmentConfig => ({
      ...fromHarborEnvironment({ type: raw.type, importPath: raw.import_path }),
      forceBuild: raw.force_build,
      delete: raw.delete,
      overrideCpus: raw.override_cpus,
      overrideMemoryMb: raw.override_memory_mb,
      overrideStorageMb: raw.override_storage_mb,
      overrideGpus: raw.override_gpus,
      suppressOverrideWarnings: raw.suppress_override_warnings,
      mountsJson: raw.mounts_json,
      env: raw.env,
      kwargs: raw.kwargs,
    }),
  )

export const verifierSchema = z
  .strictObject({
    override_timeout_sec: numberOrNull,
    max_timeout_sec: numberOrNull,
    env: texts,
    disable: flag(false),
    reward_precedence: z.enum(['txt', 'json']).default('txt'),
    agent_may_modify_system: flag(false),
  })
  .transform(
    (raw): VerifierConfig => ({
      overrideTimeoutSec: raw.override_timeout_sec,
      maxTimeoutSec: raw.max_timeout_sec,
      env: raw.env,
      disable: raw.disable,
      rewardPrecedence: raw.reward_precedence,
      ...(raw.agent_may_modify_system && { agentMayModifySystem: true }),
    }),
  )

/** Exceptions that Harbor does not retry by default. */
const defaultRetryExclude: readonly string[] = [
  'AgentTimeoutError',
  'RewardFileEmptyError',
  'RewardFileNotFoundError',
  'VerifierOutputParseError',
  'VerifierTimeoutError',
]

export const retrySchema = z
  .strictObject({
    max_retries: whole(0, 0),
    include_exceptions: textsOrNull,
    exclude_exceptions: z
      .array(z.string())
      .nullable()
      .default([...defaultRetryExclude]),
    wait_multiplier: number(1),
    min_wait_sec: number(1),
    max_wait_sec: number(60),
  })
  .transform(
    (raw): RetryConfig => ({
      maxRetries: raw.max_retries,
      include: raw.include_exceptions && sorted(raw.include_exceptions),
      exclude: sorted(raw.exclude_exceptions ?? []),
      waitMultiplier: raw.wait_multiplier,
      minWaitSec: raw.min_wait_sec,
      maxWaitSec: raw.max_wait_sec,
    }),
  )

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}

export const taskSchema = z
  .strictObject({
    path: textOrNull,
    git_url: textOrNull,
    git_commit_id: textOrNull,
    name: textOrNull,
    ref: textOrNull,
    overwrite: flag(false),
    download_dir: textOrNull,
    source: textOrNull,
  })
  .superRefine((raw, context) => {
    const complain = (message: string) => context.addIssue({ code: 'custom', message })
    if ((raw.path === null) === (raw.name === null)) complain('expected either path or name, got both or neither')
    if (raw.ref !== null && raw.name === null) complain('ref needs name, which is not set')
    if (raw.git_commit_id !== null && raw.git_url === null) complain('git_commit_id needs git_url, which is not set')
    if (raw.name !== null && !raw.name.includes('/'))
      complain(`name: expected org/name, got ${JSON.stringify(raw.name)}`)
  })
  .transform(
    (raw): TaskConfig => ({
      path: raw.path,
      gitUrl: raw.git_url,
      gitCommitId: raw.git_commit_id,
      name: raw.name,
      ref: raw.ref,
      overwrite: raw.overwrite,
      downloadDir: raw.download_dir,
      source: raw.source,
    }),
  )

export const datasetSchema = z
  .strictObject({
    path: textOrNull,
    name: textOrNull,
    version: textOrNull,
    ref: textOrNull,
    registry_url: textOrNull,
    registry_path: textOrNull,
    overwrite: flag(false),
    download_dir: textOrNull,
    task_names: textsOrNull,
    exclude_task_names: textsOrNull,
    n_tasks: wholeOrNull,
  })
  .superRefine((raw, context) => {
    const complain = (message: string) => context.addIssue({ code: 'custom', message })
    if ((raw.path === null) === (raw.name === null)) complain('expected either path or name, got both or neither')
    if (raw.version !== null && raw.ref !== null) complain('expected version or ref, got both')
  })
  .transform(
    (raw): DatasetConfig => ({
      path: raw.path,
      name: raw.name,
      version: raw.version,
      ref: raw.ref,
      registryUrl: raw.registry_url,
      registryPath: raw.registry_path,
      overwrite: raw.overwrite,
      downloadDir: raw.download_dir,
      taskNames: raw.task_names,
      excludeTaskNames: raw.exclude_task_names,
      nTasks: raw.n_tasks,
    }),
  )

export const metricSchema = z
  .strictObject({ type: z.enum(['sum', 'min', 'max', 'mean', 'uv-script']).default('mean'), kwargs: values })
  .transform((raw): MetricConfig => raw)

export const artifactSchema = z.union([
  z.string(),
  z
    .strictObject({ source: z.string(), destination: textOrNull, exclude: listOf(z.string()), service: textOrNull })
    .transform(({ source, destination, exclude, service }) => ({
      source,
      exclude,
      ...(destination === null ? {} : { destination }),
      ...(service === null ? {} : { service }),
    })),
])
