import { requiredHostVars } from '../../core/env-template.ts'
import type { TrialConfig } from '../../core/job.ts'
import { isSecretName, isTemplate } from '../../core/redact.ts'
import type { HostEnv } from './context.ts'

/** Masking shorter values would hide half of every text. */
const shortest = 6

/** Replaces a secret. */
export const masked = '****'

/** Masks the secrets that a trial was given in any text we write. */
export function makeMask(config: TrialConfig, hostEnv: HostEnv): (text: string) => string {
  const secrets = secretsOf(config, hostEnv)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, masked), text)
}

/** The texts to mask, longest first. */
export function secretsOf(config: TrialConfig, hostEnv: HostEnv): readonly string[] {
  const envs = [config.agent.env, config.environment.env, config.verifier.env]
  const named = requiredHostVars(envs).flatMap(({ name }) => hostEnv[name] ?? [])
  const secrets = [...named, ...envs.flatMap(literalSecrets)].filter((value) => value.length >= shortest)
  return secrets.sort((a, b) => b.length - a.length)
}

/** A variable of any name may hold a secret; words, numbers and paths are left alone because they are too common. */
function literalSecrets(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([key, value]) =>
    isTemplate(value) || (!isSecretName(key) && isEverydayText(value)) ? [] : [value, ...passwordIn(value)],
  )
}

function isEverydayText(value: string): boolean {
  return /^(\d+|[a-z]+([-_. ][a-z]+)*|[./~][\w./-]*)$/i.test(value)
}

/** For a URL, a text that repeats only its password is masked too. */
function passwordIn(value: string): string[] {
  return [...value.matchAll(/:\/\/[^/\s:@]*:([^/\s@]+)@/g)].flatMap(([, password]) => password ?? [])
}
