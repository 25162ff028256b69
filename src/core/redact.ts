import type { AgentConfig, EnvironmentConfig, JobConfig, TrialConfig, VerifierConfig } from './job.ts'

/** The variables of the machine that runs the job; a secret equal to one of them is written as its name. */
export type HostEnv = Readonly<Record<string, string | undefined>>

type Values = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** The variables of a config as they may be written: templates and harmless names stay, secrets become `${NAME}` or a mask. */
export function redactEnv(env: Texts, host: HostEnv): Texts {
  return Object.fromEntries(Object.entries(env).map(([key, value]) => [key, redactVariable(key, value, host)]))
}

/** Options of a plug-in as they may be written: whatever text stands under a secret-sounding key is masked, at any depth. */
export function redactKwargs(kwargs: Values, host: HostEnv): Values {
  return Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, redactOption(key, value, host, false)]))
}

/** A command line as it may be written: `--ae KEY=value`, `--set a.b.KEY=value`, `--api-key value` and passwords in URLs. */
export function redactArgv(argv: readonly string[], host: HostEnv): readonly string[] {
  return argv.map((argument, i) => {
    const before = argv[i - 1]
    const isSecretsValue = before !== undefined && /^--[^=]+$/.test(before) && isSecretOption(before)
    if (isSecretsValue && !argument.startsWith('--') && !isAssignment(argument))
      return namesVariable(before, argument, host) ? argument : hide(argument)
    return redactArgument(argument, host)
  })
}

/** A job's config without its secrets. */
export function redactJobConfig(config: JobConfig, host: HostEnv): JobConfig {
  return {
    ...config,
    agents: config.agents.map((agent) => redactPart(agent, host)),
    environment: redactPart(config.environment, host),
    verifier: redactVerifier(config.verifier, host),
  }
}

/** A trial's config without its secrets. */
export function redactTrialConfig(config: TrialConfig, host: HostEnv): TrialConfig {
  return {
    ...config,
    agent: redactPart(config.agent, host),
    environment: redactPart(config.environment, host),
    verifier: redactVerifier(config.verifier, host),
  }
}

/** Names the values that redaction would lose, so that the job could not go on from its own files: `agents[0].env.API_KEY`. */
export function unresumableSecrets(config: JobConfig, host: HostEnv): readonly string[] {
  return [
    ...config.agents.flatMap((agent, i) => lostIn(agent, `agents[${i}]`, host)),
    ...lostIn(config.environment, 'environment', host),
    ...lostIn({ env: config.verifier.env, kwargs: {} }, 'verifier', host),
  ]
}

/** True for `${VAR}` and `${VAR:-default}`, which name a secret without holding it. */
export function isTemplate(value: string): boolean {
  return /^\$\{[^}:]+(:-.*)?\}$/s.test(value)
}

function lostIn(part: { readonly env: Texts; readonly kwargs: Values }, at: string, host: HostEnv): string[] {
  return [
    ...changes(part.env, redactEnv(part.env, host), `${at}.env`),
    ...changes(part.kwargs, redactKwargs(part.kwargs, host), `${at}.kwargs`),
  ]
}

/** Where `after` holds a mask instead of what `before` held. A `${NAME}` that can be resolved again is no loss. */
function changes(before: unknown, after: unknown, at: string): string[] {
  if (typeof before === 'string') return before === after || isTemplate(String(after)) ? [] : [at]
  if (typeof before !== 'object' || before === null) return []
  const inner: Values = Object(after)
  return Object.entries(before).flatMap(([key, value]) => changes(value, inner[key], `${at}.${key}`))
}

function redactPart<T extends AgentConfig | EnvironmentConfig>(part: T, host: HostEnv): T {
  return { ...part, env: redactEnv(part.env, host), kwargs: redactKwargs(part.kwargs, host) }
}

function redactVerifier(verifier: VerifierConfig, host: HostEnv): VerifierConfig {
  return { ...verifier, env: redactEnv(verifier.env, host) }
}

function redactVariable(key: string, value: string, host: HostEnv): string {
  return isSecretName(key) ? hideUnlessNamed(key, value, host) : value
}

function redactOption(key: string, value: unknown, host: HostEnv, underSecret: boolean): unknown {
  const secret = underSecret || isSecretOption(key)
  if (typeof value === 'string') return secret ? hideUnlessNamed(key, value, host) : value
  if (Array.isArray(value)) return value.map((item) => redactOption(key, item, host, secret))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, redactOption(k, v, host, secret)]))
}

function hideUnlessNamed(key: string, value: string, host: HostEnv): string {
  if (isTemplate(value) || namesVariable(key, value, host)) return value
  return host[key] === value ? `\${${key}}` : hide(value)
}

/** Enough of a secret to recognise it by, never enough to use it. Hiding twice changes nothing more. */
function hide(secret: string): string {
  return secret.length <= 8 ? '****' : `${secret.slice(0, 4)}****${secret.slice(-3)}`
}

function redactArgument(argument: string, host: HostEnv): string {
  const flag = /^--[^=]+=/.exec(argument)?.[0]
  if (flag && isAssignment(argument.slice(flag.length))) return flag + redactArgument(argument.slice(flag.length), host)
  const split = argument.indexOf('=')
  if (split > 0 && !/\s/.test(argument.slice(0, split))) {
    const key = argument.slice(0, split)
    return `${key}=${redactAssigned(key, argument.slice(split + 1), host)}`
  }
  return hideUrlPassword(argument)
}

function redactAssigned(path: string, text: string, host: HostEnv): string {
  const key = path.split('.').at(-1) ?? path
  if (isSecretOption(key)) return hideUnlessNamed(key, text, host)
  const value = parseObject(text)
  if (value === null) return hideUrlPassword(text)
  const redacted = JSON.stringify(redactOption(key, value, host, false))
  return redacted === JSON.stringify(value) ? text : redacted
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

function isAssignment(text: string): boolean {
  return /^[\w.[\]-]+=/.test(text)
}

function hideUrlPassword(text: string): string {
  return text.replace(/(\w+:\/\/[^/\s:@]*):[^/\s@]+@/g, '$1:****@')
}

/** `api_key_env: MY_KEY` only says where a secret is; should somebody put the secret itself there, it looks different. */
function namesVariable(key: string, value: string, host: HostEnv): boolean {
  return /[_-]env$/i.test(key) && (/^[A-Z_][A-Z0-9_]*$/.test(value) || host[value] !== undefined)
}

/** Whether a variable by its name holds a secret. */
export function isSecretName(name: string): boolean {
  return /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|AUTH/i.test(name)
}

/** Options have longer names than variables: `tokenizer`, `max_tokens`, `author` and `keystrokes` are no secrets. */
function isSecretOption(name: string): boolean {
  return isSecretName(
    name.replace(/tokeniz\w*|(max|min|num|n|input|output)_?tokens?|authors?(?!\w)|key(words?|strokes?|board)/gi, ''),
  )
}
