import type { EnvironmentConfig } from '../../core/job.ts'
import type { RunFacts } from '../../formats/traces/run-facts.ts'
import { checkTrialConfig, noEnvironmentConfig } from '../../run/check/trial-config.ts'
import type { ReplaySettings } from './found-trial.ts'

/**
 * How to run a trial of which only a row is left: as its dataset says, or with its agent in a local sandbox; options
 * given again win. Datasets are untrusted, so nothing in them can name variables or files of this machine to load.
 */
export function settingsFor(
  agent: { readonly name: string | null; readonly model: string | null } | null,
  kwargs: Readonly<Record<string, unknown>>,
  run: RunFacts | null = null,
): ReplaySettings {
  const { agent: plain, ...rest } = checkTrialConfig(null, {
    agentName: run?.agent.name ?? agent?.name ?? 'unknown',
    trialName: '',
    trialsDir: '',
    sandbox: run?.sandbox.type ?? 'local',
    sandboxOptions: {},
  })
  if (!run) return { ...rest, agent: { ...plain, modelName: agent?.model ?? null, kwargs } }
  const { model, overrideTimeoutSec, maxTimeoutSec } = run.agent
  const env = Object.fromEntries(Object.entries(run.agent.env).filter(([, value]) => !value.includes('${')))
  return {
    ...rest,
    agent: {
      ...{ ...plain, modelName: model, overrideTimeoutSec, maxTimeoutSec, env },
      kwargs: { ...run.agent.kwargs, ...kwargs },
    },
    environment: { ...rest.environment, ...run.sandbox },
    timeoutMultipliers: run.timeoutMultipliers,
  }
}

/** A kind of sandbox with default options. */
export function sandboxNamed(type: string): EnvironmentConfig {
  return { ...noEnvironmentConfig, type, kwargs: {} }
}
