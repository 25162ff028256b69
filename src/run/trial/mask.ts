import { requiredHostVars } from '../../core/env-template.ts'
import type { TrialConfig } from '../../core/job.ts'
import { isTemplate, redactEnv } from '../../core/redact.ts'
import type { HostEnv } from './scene.ts'

/** Shorter values would hide half of every text. */
const shortest = 6

/** Hides the secrets a trial was given, wherever a text of ours repeats one. */
export function makeMask(config: TrialConfig, hostEnv: HostEnv): (text: string) => string {
  const envs = [config.agent.env, config.environment.env, config.verifier.env]
  const named = requiredHostVars(envs).flatMap(({ name }) => hostEnv[name] ?? [])
  const secrets = [...named, ...envs.flatMap(literalSecrets)].filter((value) => value.length >= shortest)
  secrets.sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '****'), text)
}

/** A value is a secret when it may not be written down as it is. */
function literalSecrets(env: Readonly<Record<string, string>>): string[] {
  const written = redactEnv(env, {})
  return Object.entries(env).flatMap(([key, value]) => (isTemplate(value) || written[key] === value ? [] : [value]))
}
