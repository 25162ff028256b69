import { z } from 'zod'
import type { AgentConfig, JobConfig, TrialConfig } from '../../core/job.ts'
import { type HostEnv, redactJobConfig, redactTrialConfig } from '../../core/redact.ts'
import { localStamp } from '../../lib/time.ts'
import { environmentDocument, jobConfigDocument, trialConfigDocument } from './config-render.ts'
import * as part from './config-schema.ts'
import { renderPythonJson } from './python-json.ts'
import { type ConfigWarning, migrate, parseConfig, readJsonDocument } from './read-config.ts'

export type { ConfigWarning } from './read-config.ts'

export interface JobConfigSource {
  /** For messages. */
  readonly path: string
  /** The time for the default job name; default: now. */
  readonly now?: Date
}

/** The format of a job file. */
export const jobSchema = z.strictObject({
  job_name: part.textOrNull,
  jobs_dir: z.string().default('jobs'),
  n_attempts: part.whole(1, 1),
  ...part.multiplierKeys,
  debug: part.flag(false),
  n_concurrent_trials: part.whole(1, 4),
  quiet: part.flag(false),
  retry: part.retrySchema.prefault({}),
  environment: part.environmentSchema.prefault({}),
  verifier: part.verifierSchema.prefault({}),
  metrics: part.listOf(part.metricSchema),
  agents: z.array(part.agentSchema).prefault([{}]),
  datasets: part.listOf(part.datasetSchema),
  tasks: part.listOf(part.taskSchema),
  artifacts: part.listOf(part.artifactSchema),
})

/**
 * Parses a Harbor job config, with every default filled in. `environment.type` stays null if the file names none, so
 * that the caller can choose.
 */
export function parseJobConfig(
  document: unknown,
  source: JobConfigSource,
): { config: JobConfig; warnings: ConfigWarning[] } {
  const { value, warnings } = migrate(document ?? {})
  const hint = 'a job config has the keys of Harbor job files; null or leaving a key out means its default'
  const parsed = parseConfig(jobSchema, value, source.path, hint)
  return { config: toJobConfig(parsed.value, source.now ?? new Date()), warnings: [...warnings, ...parsed.warnings] }
}

/** A job's defaults. */
export function defaultJobConfig(over: Partial<JobConfig> = {}, now = new Date()): JobConfig {
  return { ...toJobConfig(jobSchema.parse({}), now), ...over }
}

/** The agent of a job that does not name one: oracle. */
export function defaultAgent(): AgentConfig {
  return part.agentSchema.parse({})
}

/** Changes a job config by the keys of a job file, for example `agents[0].kwargs.x`. */
export function setInJobConfig(
  config: JobConfig,
  source: JobConfigSource,
  change: (document: Record<string, unknown>) => void,
): { config: JobConfig; warnings: ConfigWarning[] } {
  const { type, importPath: import_path } = config.environment
  const rendered = {
    ...jobConfigDocument(config),
    environment: { ...environmentDocument(config.environment), type, import_path },
  }
  const document = { ...Object(readJsonDocument(renderPythonJson(rendered), source.path)) }
  change(document)
  return parseJobConfig(readJsonDocument(JSON.stringify(document), source.path), source)
}

/** The text of a job's config.json, without secrets. */
export function renderJobConfig(config: JobConfig, host: HostEnv = process.env): string {
  return renderPythonJson(jobConfigDocument(redactJobConfig(config, host)))
}

function toJobConfig(raw: z.output<typeof jobSchema>, now: Date): JobConfig {
  return {
    jobName: raw.job_name ?? localStamp(now),
    jobsDir: raw.jobs_dir,
    nAttempts: raw.n_attempts,
    timeoutMultipliers: part.toMultipliers(raw),
    debug: raw.debug,
    nConcurrentTrials: raw.n_concurrent_trials,
    quiet: raw.quiet,
    retry: raw.retry,
    environment: raw.environment,
    verifier: raw.verifier,
    metrics: raw.metrics,
    agents: raw.agents,
    datasets: raw.datasets,
    tasks: raw.tasks,
    artifacts: raw.artifacts,
  }
}

/** The format of a trial's config.json. */
export const trialSchema = z
  .strictObject({
    task: part.taskSchema,
    trial_name: z.string().default(''),
    trials_dir: z.string().default('trials'),
    ...part.multiplierKeys,
    agent: part.agentSchema.prefault({}),
    environment: part.environmentSchema.prefault({}),
    verifier: part.verifierSchema.prefault({}),
    artifacts: part.listOf(part.artifactSchema),
    job_id: part.textOrNull,
  })
  .transform(
    (raw): TrialConfig => ({
      task: raw.task,
      trialName: raw.trial_name,
      trialsDir: raw.trials_dir,
      timeoutMultipliers: part.toMultipliers(raw),
      agent: raw.agent,
      environment: raw.environment,
      verifier: raw.verifier,
      artifacts: raw.artifacts,
      jobId: raw.job_id,
    }),
  )

/** Reads a trial's config.json. */
export function parseTrialConfigDocument(
  document: unknown,
  path: string,
): { config: TrialConfig; warnings: ConfigWarning[] } {
  const { value, warnings } = migrate(document)
  const parsed = parseConfig(trialSchema, value, path, 'a trial config has the keys of a Harbor trial config.json')
  return { config: parsed.value, warnings: [...warnings, ...parsed.warnings] }
}

/** The text of a trial's config.json, without secrets. */
export function renderTrialConfig(config: TrialConfig, host: HostEnv = process.env): string {
  return renderPythonJson(trialConfigDocument(redactTrialConfig(config, host)))
}
