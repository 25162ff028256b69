import type { AgentLimits } from '../../core/task.ts'
import { checkPlaces, toArtifacts } from './artifacts.ts'
import { toEnvironment, toHealthcheck } from './environment.ts'
import { phaseNetwork } from './network.ts'
import { toPlain } from './plain.ts'
import type { Refuse } from './refuse.ts'
import type { AgentToml, StepToml, TaskToml, VerifierToml } from './schema.ts'
import { defined, type StepSettings, type TaskSettings, type VerifierSettings } from './settings.ts'
import { checkStepNames } from './step-names.ts'

/** What a task without a version is taken for. */
const defaultVersion = '1.2'

/** Turns the spelling of task.toml into our words, fills in its version's defaults, refuses what contradicts itself. */
export function toSettings(toml: TaskToml, refuse: Refuse): TaskSettings {
  const schemaVersion = toml.schema_version ?? toml.version ?? defaultVersion
  const modern = isModern(schemaVersion)
  const environment = toEnvironment(toml.environment, { key: 'environment', modern, os: 'linux', refuse })
  const toVerifierHere = (verifier: VerifierToml, key: string, inherited: 'shared' | 'separate') =>
    toVerifier(verifier, { key, modern, os: environment.os, refuse, inherited })
  const verifier = toVerifierHere(toml.verifier, 'verifier', 'shared')
  checkStepNames(toml.steps, refuse)
  const settings = {
    ...packageSettings(toml, refuse),
    schemaVersion,
    metadata: toPlain(toml.metadata),
    environment,
    agent: toAgent(toml.agent, 'agent', refuse),
    verifier,
    solution: toml.solution,
    artifacts: toArtifacts(toml.artifacts, 'artifacts', refuse),
    steps: toml.steps.map((step, i) =>
      toStep(step, `steps[${i}]`, refuse, (own, key) => toVerifierHere(own, key, verifier.mode)),
    ),
    stepReward: toml.multi_step_reward_strategy ?? 'mean',
  }
  if (modern) checkAllPlaces(settings, refuse)
  return settings
}

/** Whether a schema version is 1.3 or later; any other string is old. */
export function isModern(version: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 3)
}

function packageSettings(toml: TaskToml, refuse: Refuse) {
  const { name, version, description = '', authors = [], keywords = [] } = toml.task ?? {}
  if (name !== undefined && !isTaskName(name)) {
    refuse('task.name', 'org/name, both of letters, digits, ".", "_" and "-"', name)
  }
  return defined({ name, version, description, authors: authors.map(defined), keywords, source: toml.source })
}

/** Whether a text is a package's name: `org/name`. */
export function isTaskName(name: string): boolean {
  return /^[a-zA-Z0-9][a-zA-Z0-9._-]*\/[a-zA-Z0-9][a-zA-Z0-9._-]*$/.test(name) && !name.includes('..')
}

function toAgent(toml: AgentToml, key: string, refuse: Refuse): AgentLimits {
  return defined({ timeoutSec: toml.timeout_sec, user: toml.user, network: phaseNetwork(toml, key, refuse) })
}

interface VerifierContext {
  readonly key: string
  readonly modern: boolean
  readonly os: 'linux' | 'windows'
  readonly refuse: Refuse
  /** The mode when the table says nothing. */
  readonly inherited: 'shared' | 'separate'
}

function toVerifier(toml: VerifierToml, context: VerifierContext): VerifierSettings {
  const { key, refuse } = context
  if (toml.environment_mode === 'shared' && toml.environment) {
    refuse(`${key}.environment_mode`, `"separate" next to [${key}.environment]`, 'shared')
  }
  return defined({
    timeoutSec: toml.timeout_sec,
    env: toml.env,
    user: toml.user,
    network: phaseNetwork(toml, key, refuse),
    mode: toml.environment_mode ?? (toml.environment ? 'separate' : context.inherited),
    environment: toml.environment && toEnvironment(toml.environment, { ...context, key: `${key}.environment` }),
    collect: toml.collect.map(({ timeout_sec: timeoutSec, ...rest }) => defined({ ...rest, timeoutSec })),
  })
}

function toStep(
  toml: StepToml,
  key: string,
  refuse: Refuse,
  verifier: (toml: VerifierToml, key: string) => VerifierSettings,
): StepSettings {
  const minReward = typeof toml.min_reward === 'number' ? { reward: toml.min_reward } : toml.min_reward
  return defined({
    name: toml.name,
    agent: toAgent(toml.agent, `${key}.agent`, refuse),
    verifier: verifier(toml.verifier, `${key}.verifier`),
    minReward,
    healthcheck: toml.healthcheck && toHealthcheck(toml.healthcheck),
    artifacts: toArtifacts(toml.artifacts, `${key}.artifacts`, refuse),
  })
}

/** One collection takes the task's artefacts and a step's together, so they must not meet. */
function checkAllPlaces(settings: TaskSettings, refuse: Refuse): void {
  checkPlaces(settings.artifacts, 'artifacts', refuse)
  for (const [i, step] of settings.steps.entries()) {
    checkPlaces([...settings.artifacts, ...step.artifacts], `steps[${i}].artifacts`, refuse)
  }
}
