import type { AgentConfig, EnvironmentConfig, JobConfig, TrialConfig, VerifierConfig } from './job.ts'

/** The variables of the machine that runs the job; a secret equal to one of them is written as its name. */
export type HostEnv = Readonly<Record<string, string | undefined>>

type Values = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** Replaces a value that may not be written. */
export const mask = '****'

/** Options whose values are variables: `--ae KEY=value`. */
const setsVariable = /^--(ae|ve|ee|[\w-]+[-_]env)$/

/** The variables of a config, safe to write: only templates stay; a literal of any name becomes `${NAME}` or a mask. */
export function redactEnv(env: Texts, host: HostEnv): Texts {
  return Object.fromEntries(Object.entries(env).map(([key, value]) => [key, redactVariable(key, value, host)]))
}

/**
 * Options of a plug-in, safe to write: text under a secret-sounding key, variables under `env` and passwords in URLs
 * are masked, at any depth.
 */
export function redactKwargs(kwargs: Values, host: HostEnv): Values {
  return Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, redactOption(key, value, host, false)]))
}

/**
 * A command line, safe to write: without variables (`--ae KEY=value`, `--set agents[0].env.KEY=value`), keys
 * (`--api-key value`) and passwords in URLs.
 */
export function redactArgv(argv: readonly string[], host: HostEnv): readonly string[] {
  return argv.map((argument, i) => {
    const before = argv[i - 1]
    const isSecretsValue = before !== undefined && /^--[^=]+$/.test(before) && isSecretOption(before)
    // Even if it looks like an assignment: keys may end with `=`.
    if (isSecretsValue && !argument.startsWith('--')) return namesVariable(before, argument, host) ? argument : mask
    if (before !== undefined && setsVariable.test(before)) return redactAssignedVariable(argument, host)
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

/**
 * Names the values that redaction would lose, which would keep the job from resuming from its own files:
 * `agents[0].env.API_KEY`.
 */
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

/** A variable's name says little about its value: any literal may be a password. A default that contains a password is removed too. */
function redactVariable(key: string, value: string, host: HostEnv): string {
  if (isTemplate(value)) return hideUrlPassword(value) === value ? value : value.replace(/:-.*\}$/s, '}')
  if (value === '') return value
  return host[key] === value ? `\${${key}}` : mask
}

function redactOption(key: string, value: unknown, host: HostEnv, underSecret: boolean): unknown {
  const secret = underSecret || isSecretOption(key)
  if (typeof value === 'string') return secret ? hideUnlessNamed(key, value, host) : hideUrlPassword(value)
  if (Array.isArray(value)) return value.map((item) => redactOption(key, item, host, secret))
  if (typeof value !== 'object' || value === null) return value
  const inner = (k: string, v: unknown) =>
    key === 'env' && typeof v === 'string' ? redactVariable(k, v, host) : redactOption(k, v, host, secret)
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inner(k, v)]))
}

function hideUnlessNamed(key: string, value: string, host: HostEnv): string {
  if (isTemplate(value) || namesVariable(key, value, host)) return value
  return host[key] === value ? `\${${key}}` : mask
}

function redactArgument(argument: string, host: HostEnv): string {
  const flag = /^--[^=]+=/.exec(argument)?.[0]
  const rest = argument.slice(flag?.length ?? 0)
  const holdsSecret = flag !== undefined && isSecretOption(flag)
  if (flag && !holdsSecret && setsVariable.test(flag.slice(0, -1))) return flag + redactAssignedVariable(rest, host)
  if (flag && !holdsSecret && isAssignment(rest)) return flag + redactArgument(rest, host)
  const split = argument.indexOf('=')
  if (split > 0 && !/\s/.test(argument.slice(0, split))) {
    const key = argument.slice(0, split)
    return `${key}=${redactAssigned(key, argument.slice(split + 1), host)}`
  }
  return hideUrlPassword(argument)
}

/** Redacts the value of `KEY=value`; any other text is the name of a variable, or of a file of them. */
function redactAssignedVariable(text: string, host: HostEnv): string {
  const split = text.indexOf('=')
  if (split <= 0) return hideUrlPassword(text)
  const key = text.slice(0, split)
  return `${key}=${redactVariable(key, text.slice(split + 1), host)}`
}

function redactAssigned(path: string, text: string, host: HostEnv): string {
  const [parent, key = path] = ['', ...path.split('.')].slice(-2)
  if (parent === 'env') return redactVariable(key, text, host)
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
  return text.replace(/(\w+:\/\/[^/\s:@]*):[^/\s@]+@/g, `$1:${mask}@`)
}

/** `api_key_env: MY_KEY` only says where a secret is; a secret put there by mistake looks different. */
function namesVariable(key: string, value: string, host: HostEnv): boolean {
  return /[_-]env$/i.test(key) && (/^[A-Z_][A-Z0-9_]*$/.test(value) || host[value] !== undefined)
}

/** Whether a variable's name suggests a secret. */
export function isSecretName(name: string): boolean {
  return /KEY|SECRET|TOKEN|PASSWO?R?D|PASSPHRASE|CREDENTIAL|AUTH|(^|[_-])PASS$|[_-]PWD$/i.test(name)
}

/**
 * Whole words in option names that sound like secrets but are not. A `session_token` is one, although it ends like
 * `n_token`.
 */
const harmless =
  /tokeniz[a-z]*|(?<![a-z])(max|min|num|n|input|output|completion|generation)_?tokens?|authors?(?!\w)|key(words?|strokes?|board)/gi
const harmlessInCamelCase = /(Max|Min|Num|Input|Output|Completion|Generation)Tokens?/g

/**
 * Option names are longer than variable names: `tokenizer`, `max_tokens`, `author` and `keystrokes` are not secrets.
 */
function isSecretOption(name: string): boolean {
  return isSecretName(name.replace(harmless, '').replace(harmlessInCamelCase, ''))
}
