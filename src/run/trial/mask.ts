import { requiredHostVars } from '../../core/env-template.ts'
import type { TrialConfig } from '../../core/job.ts'
import { isSecretName, isTemplate } from '../../core/redact.ts'
import type { HostEnv } from './context.ts'

/** Shorter values would hide half of every text. */
const shortest = 6

/** What stands where a secret was. */
export const masked = '****'

/** Hides the secrets a trial was given, wherever a text of ours repeats one. */
export function makeMask(config: TrialConfig, hostEnv: HostEnv): (text: string) => string {
  const secrets = secretsOf(config, hostEnv)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, masked), text)
}

/** The texts that are hidden, longest first. */
export function secretsOf(config: TrialConfig, hostEnv: HostEnv): readonly string[] {
  const envs = [config.agent.env, config.environment.env, config.verifier.env]
  const named = requiredHostVars(envs).flatMap(({ name }) => hostEnv[name] ?? [])
  const secrets = [...named, ...envs.flatMap(literalSecrets)].filter((value) => value.length >= shortest)
  return secrets.sort((a, b) => b.length - a.length)
}

/** A variable of any name may hold a secret; words, numbers and paths are left alone, because texts are full of them. */
function literalSecrets(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([key, value]) =>
    isTemplate(value) || (!isSecretName(key) && isEverydayText(value)) ? [] : [value, ...passwordIn(value)],
  )
}

function isEverydayText(value: string): boolean {
  return /^(\d+|[a-z]+([-_. ][a-z]+)*|[./~][\w./-]*)$/i.test(value)
}

/** A URL is also hidden where a text repeats only its password. */
function passwordIn(value: string): string[] {
  return [...value.matchAll(/:\/\/[^/\s:@]*:([^/\s@]+)@/g)].flatMap(([, password]) => password ?? [])
}
