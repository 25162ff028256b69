import { z } from 'zod'
import type { TrialConfig } from '../../core/job.ts'
import { type HostEnv, redactTrialConfig } from '../../core/redact.ts'
import { trialConfigDocument } from './config-render.ts'
import * as part from './config-schema.ts'
import { migrate } from './legacy.ts'
import { renderPythonJson } from './python-json.ts'
import { type ConfigWarning, parseConfig } from './read-config.ts'

const trialSchema = z
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
