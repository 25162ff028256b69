import { UserError } from '../../core/errors.ts'
import type { JobConfig } from '../../core/job.ts'
import { isSecretName } from '../../core/redact.ts'
import { pluginContext } from '../../plugins/make.ts'
import { fingerprintsIn, type JobIdentity, parseIdentity } from '../../run/job/identity.ts'
import type { JobDir } from '../../store/job-dir.ts'

/** Values that the job's original request held but its files do not. */
export interface GivenAgain {
  readonly agentEnv?: Readonly<Record<string, string>>
  readonly agentOptions?: Readonly<Record<string, unknown>>
  readonly verifierEnv?: Readonly<Record<string, string>>
  /** A different kind of sandbox than the job's, with its options. */
  readonly sandbox?: string | undefined
  readonly sandboxOptions?: Readonly<Record<string, unknown>>
  /** Variables of this machine that its tasks may use: consent is per run. */
  readonly passEnv?: readonly string[] | undefined
}

/**
 * The job's config with every hidden value filled in from the flags or the variable of the same name; values that
 * remain hidden are refused.
 */
export function withValuesGivenAgain({ config, own, dir }: JobDir, given: GivenAgain): JobConfig {
  const identity = own && parseIdentity(own.identity)
  const { agentEnv = {}, agentOptions: agentKwargs = {}, verifierEnv = {} } = given
  refuseUnasked(
    '--ae',
    agentEnv,
    config.agents.map(({ env }) => env),
  )
  refuseUnasked(
    '--ak',
    agentKwargs,
    config.agents.map(({ kwargs }) => kwargs),
  )
  refuseUnasked('--ve', verifierEnv, [config.verifier.env])
  const filled = {
    ...config,
    agents: config.agents.map((agent, i) => ({
      ...agent,
      env: filledEnv(agent.env, agentEnv, envIn(identity?.agents[i])),
      kwargs: mapHidden(agent.kwargs, (key, value) => agentKwargs[key] ?? value),
    })),
    environment: {
      ...config.environment,
      env: filledEnv(config.environment.env, {}, envIn(identity?.environment)),
    },
    verifier: { ...config.verifier, env: filledEnv(config.verifier.env, verifierEnv, envIn(identity?.verifier)) },
  }
  refuseHidden(filled, dir)
  return filled
}

type Texts = Readonly<Record<string, string>>

/**
 * Fills in hidden variables. A key may have changed, so this machine's variable is accepted; any other value must be
 * the same as before.
 */
function filledEnv(env: Texts, given: Texts, marks: Readonly<Record<string, unknown>>): Texts {
  const { env: host, stateDir } = pluginContext()
  const fingerprint = fingerprintsIn(stateDir)
  return mapHidden(env, (key, value) => {
    const here = host[key]
    const usable = here !== undefined && (isSecretName(key) || fingerprint(key, here) === marks[key])
    return given[key] ?? (usable ? here : value)
  })
}

function mapHidden<V>(
  values: Readonly<Record<string, V>>,
  fill: (key: string, value: V) => V,
): Readonly<Record<string, V>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, maskedIn(value, key).length > 0 ? fill(key, value) : value]),
  )
}

function envIn(part: JobIdentity['verifier'] | undefined): Readonly<Record<string, unknown>> {
  const { env } = Object(part)
  return typeof env === 'object' && env !== null ? env : {}
}

function refuseUnasked(flag: string, given: object, parts: readonly object[]): void {
  const hidden = parts.flatMap((part) => Object.entries(part).filter(([key, value]) => maskedIn(value, key).length > 0))
  const unexpected = Object.keys(given).find((key) => !hidden.some(([name]) => name === key))
  if (unexpected === undefined) return
  throw new UserError(
    `${flag} ${unexpected}: expected a value that is hidden in the job's files, got one that is not`,
    'a job resumes with the settings it was started with; run a new job to change them',
  )
}

/** Refuses to run with a masked value, which must not reach an agent or its tests. */
function refuseHidden(config: JobConfig, dir: string): void {
  const { agents, environment, verifier } = config
  const lost = [
    ...agents.flatMap(({ env, kwargs }, i) => maskedIn({ env, kwargs }, `agents[${i}]`)),
    ...maskedIn({ env: environment.env, kwargs: environment.kwargs }, 'environment'),
    ...maskedIn({ env: verifier.env }, 'verifier'),
  ]
  if (lost.length === 0) return
  const example = lost[0]
    ?.replace(/^agents\[\d+\]\.env\./, '--ae ')
    .replace(/^agents\[\d+\]\.kwargs\./, '--ak ')
    .replace(/^verifier\.env\./, '--ve ')
  const flag = example?.startsWith('--') ? `pass it again (${example}=...), ` : ''
  throw new UserError(
    `${dir}: ${lost.join(', ')}: the job needs ${lost.length > 1 ? 'these values' : 'this value'}, but literal values are never written to its files`,
    `${flag}run the original command again, or write such a value as \${VARIABLE}, which is then read from the environment`,
  )
}

/** The paths of settings whose literal value was masked when written. */
export function maskedIn(value: unknown, path: string): string[] {
  if (typeof value === 'string') return /^(.{4}\*{4}.{3}|\*{4})$|:\/\/[^/\s:@]*:\*{4}@/s.test(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => maskedIn(item, `${path}.${key}`))
}
