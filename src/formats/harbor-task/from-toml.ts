import { posix } from 'node:path'
import type { AgentLimits, Artifact } from '../../core/task.ts'
import {
  defined,
  phaseNetwork,
  type StepSettings,
  type TaskSettings,
  toEnvironment,
  toHealthcheck,
  type VerifierSettings,
} from './environment.ts'
import type { AgentToml, ArtifactToml, Refuse, StepToml, TaskToml, VerifierToml } from './schema.ts'

/** The version assumed for a task that does not state one. */
const defaultVersion = '1.2'

/** Converts the format of task.toml to our types, fills in its version's defaults, and refuses contradictions. */
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

/** Whether a schema version is 1.3 or later; any other string counts as old. */
function isModern(version: string): boolean {
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

/** Whether a text is a package name: `org/name`. */
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
  /** The mode if the table does not state one. */
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

/** A task's artifacts and a step's are collected together, so their destinations must not collide. */
function checkAllPlaces(settings: TaskSettings, refuse: Refuse): void {
  checkPlaces(settings.artifacts, 'artifacts', refuse)
  for (const [i, step] of settings.steps.entries()) {
    checkPlaces([...settings.artifacts, ...step.artifacts], `steps[${i}].artifacts`, refuse)
  }
}

/** Converts TOML values to JSON's: dates become text, huge integers numbers. */
function toPlain(table: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, plainValue(value)]))
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plainValue)
  if (typeof value === 'object' && value !== null) return toPlain(value as Record<string, unknown>)
  return value
}

/** Refuses step names that are not valid directory names, or that would collide on some file system. */
function checkStepNames(steps: readonly { readonly name: string }[], refuse: Refuse): void {
  const seen = new Set<string>()
  for (const [i, { name }] of steps.entries()) {
    if (!isDirectoryName(name)) refuse(`steps[${i}].name`, 'the name of one directory below steps/', name)
    const folded = name.normalize('NFC').toLowerCase()
    if (seen.has(folded)) refuse(`steps[${i}].name`, 'a unique name', name)
    seen.add(folded)
  }
}

function isDirectoryName(name: string): boolean {
  if (name.trim() === '' || name === '.' || name === '..' || Buffer.byteLength(name) > 255) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return !/[<>:"/\\|?*\x00-\x1f\x7f]/.test(name) && !/[. ]$/.test(name)
}

/** Normalizes artifacts; none may be placed outside the folder they are collected into. */
function toArtifacts(list: readonly ArtifactToml[], key: string, refuse: Refuse): Artifact[] {
  return list.map((item, i) => {
    const { source, destination, exclude, service } = typeof item === 'string' ? plain(item) : item
    const artifact = defined({ source, destination: destination || undefined, exclude, service })
    checkPlace(artifact, `${key}[${i}]`, refuse)
    return artifact
  })
}

/** Where an artifact goes in the artifacts folder: its destination, else the last part of its source. */
function placeOf(artifact: Artifact): string {
  return posix.normalize(artifact.destination ?? posix.basename(artifact.source)).replace(/\/$/, '')
}

/** Refuses what schema 1.3 and later forbid: the manifest's own name, and two artifacts in one place. */
function checkPlaces(artifacts: readonly Artifact[], key: string, refuse: Refuse): void {
  for (const [i, artifact] of artifacts.entries()) {
    const place = placeOf(artifact)
    if (place === 'manifest.json')
      refuse(key, 'no artifact at manifest.json, which is reserved for the manifest', artifact.source)
    const other = artifacts
      .slice(0, i)
      .find((earlier) => overlaps(placeOf(earlier), place) && !isSame(earlier, artifact))
    if (other) {
      const hint = 'give one of them another destination'
      refuse(key, 'artifacts in different places', `${other.source} and ${artifact.source}, both at ${place}`, hint)
    }
  }
}

function plain(source: string) {
  return { source, destination: undefined, exclude: [], service: undefined }
}

function checkPlace(artifact: Artifact, key: string, refuse: Refuse): void {
  const given = artifact.destination ?? posix.basename(artifact.source)
  const leaves = given.split('/').includes('..') || posix.isAbsolute(given) || given.includes('\\')
  if (leaves) refuse(`${key}.destination`, 'a relative path without ".."', given)
  if (given.includes('\0')) refuse(`${key}.destination`, 'a path', given)
}

function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
}

/** Naming the same artifact twice is harmless. */
function isSame(a: Artifact, b: Artifact): boolean {
  return a.source === b.source && (a.service ?? 'main') === (b.service ?? 'main') && placeOf(a) === placeOf(b)
}
