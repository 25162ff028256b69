import { createHash, createHmac, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { JobConfig } from '../../core/job.ts'
import { isSecretName, isTemplate, mask, redactEnv, redactJobConfig } from '../../core/redact.ts'
import type { Task } from '../../core/task.ts'
import { draftBeside } from '../../lib/drafts.ts'

/** A mark that changes when a hidden value changes, and from which the value cannot be guessed. */
export type Fingerprint = (name: string, value: string) => string

/** Marks nothing: hidden values are not compared. */
export const noFingerprint: Fingerprint = () => mask

/**
 * Fingerprints made with a key that never leaves this user's state directory: with plain digests in a job's files, a
 * reader could try out passwords. Without a usable state directory, hidden values are not compared.
 */
export function fingerprintsIn(stateDir: string): Fingerprint {
  let key: Buffer
  try {
    key = readOrMakeKey(stateDir)
  } catch {
    return noFingerprint
  }
  const keyId = createHash('sha256').update('id').update(key).digest('hex').slice(0, 8)
  return (name, value) => {
    const code = createHmac('sha256', key)
      .update(JSON.stringify([name, value]))
      .digest('hex')
    return `${mask}${keyId}:${code.slice(0, 16)}`
  }
}

/** Which key made a mark; `''` for one made without a key, null for a value that is not a mark. */
function keyOfMark(value: string): string | null {
  const match = /^\*{4}(?:([0-9a-f]{8}):[0-9a-f]{16})?$/.exec(value)
  return match && (match[1] ?? '')
}

function readOrMakeKey(stateDir: string): Buffer {
  const path = join(stateDir, 'fingerprint.key')
  try {
    return readKey(path)
  } catch {
    mkdirSync(stateDir, { recursive: true })
    const draft = draftBeside(path)
    writeFileSync(draft, randomBytes(32), { mode: 0o600, flag: 'wx' })
    try {
      // If two processes make a key at once, the second uses the first one's.
      linkSync(draft, path)
    } catch {
      // Either the key exists now, or reading it fails below.
    } finally {
      rmSync(draft, { force: true })
    }
    return readKey(path)
  }
}

function readKey(path: string): Buffer {
  const key = readFileSync(path)
  if (key.length < 32) throw new Error(`${path}: expected a key of 32 bytes, got ${key.length}`)
  return key
}

const jsonSchema = z.json()
type Json = z.output<typeof jsonSchema>

const identitySchema = z.object({
  /** Content digests by name; one name may have several. */
  tasks: z.record(z.string(), z.array(z.string())),
  agents: z.array(jsonSchema),
  /** Digests of user code by its import path. */
  imports: z.record(z.string(), z.string()).default({}),
  nAttempts: z.number(),
  environment: jsonSchema,
  verifier: jsonSchema,
  timeoutMultipliers: jsonSchema,
  artifacts: jsonSchema,
})

/** What makes two jobs the same experiment: if equal, one continues the other. Contains no secret. */
export type JobIdentity = z.output<typeof identitySchema>

/** Parses a stored identity; null when it is not of this version. */
export function parseIdentity(value: unknown): JobIdentity | null {
  const parsed = identitySchema.safeParse(value)
  return parsed.success ? parsed.data : null
}

/** The agents of a stored identity; null if another version wrote it. */
export function agentsIn(value: Readonly<Record<string, unknown>>): JobIdentity['agents'] | null {
  return identitySchema.shape.agents.safeParse(value.agents).data ?? null
}

/** The identity of a job. Concurrency, retries, quietness and the spelling of paths are not part of it. */
export function identityOf(
  config: JobConfig,
  tasks: readonly Pick<Task, 'name' | 'digests'>[],
  imports: Readonly<Record<string, string>> = {},
  fingerprint: Fingerprint = noFingerprint,
): JobIdentity {
  const hidden = redactJobConfig(config, {})
  const { delete: _, forceBuild: __, suppressOverrideWarnings: ___, ...environment } = config.environment
  return {
    tasks: digestsByName(tasks),
    agents: agentIdentities(config, fingerprint),
    imports: { ...imports },
    nAttempts: config.nAttempts,
    environment: withEnv(environment, hidden.environment, fingerprint),
    verifier: withEnv(config.verifier, hidden.verifier, fingerprint),
    timeoutMultipliers: toJson(config.timeoutMultipliers),
    artifacts: toJson(config.artifacts),
  }
}

/** What distinguishes one agent of a job from another. */
export function agentIdentities(config: JobConfig, fingerprint: Fingerprint = noFingerprint): Json[] {
  const hidden = redactJobConfig(config, {})
  return config.agents.map((agent, i) => withEnv(agent, hidden.agents[i] ?? agent, fingerprint))
}

type Env = Readonly<Record<string, string>>

/** A part of a config with its variables replaced by templates or marks. */
function withEnv(part: { readonly env: Env }, hidden: { readonly env: Env }, fingerprint: Fingerprint): Json {
  const env = Object.entries(part.env).map(([name, value]) => [name, variableMark(name, value, fingerprint)])
  const marked = Object.fromEntries(env)
  return toJson({ ...part, env: marked }, { ...hidden, env: marked })
}

/** A new key for the same service is still the same experiment; a new value of any other variable is not. */
function variableMark(name: string, value: string, fingerprint: Fingerprint): string {
  if (value === '' || isTemplate(value)) return redactEnv({ [name]: value }, {})[name] ?? mask
  return isSecretName(name) || keyOfMark(value) !== null ? mask : fingerprint(name, value)
}

function digestsByName(tasks: readonly Pick<Task, 'name' | 'digests'>[]): Record<string, string[]> {
  const digests = new Map<string, string[]>()
  for (const { name, digests: own } of tasks) digests.set(name, [...(digests.get(name) ?? []), own.content].sort())
  return Object.fromEntries([...digests].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * JSON with sorted keys. Values that `hidden` shows differently are secrets and are left out: a new key for the same
 * service is the same experiment.
 */
function toJson(value: unknown, hidden: unknown = value): Json {
  if (typeof value === 'string') return value === hidden ? value : hiddenText(hidden)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map((item, i) => toJson(item, Array.isArray(hidden) ? hidden[i] : hidden))
  if (typeof value !== 'object' || value === null) return null
  const shown = new Map(Object.entries(Object(hidden)))
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, toJson(item, shown.get(key))]),
  )
}

/** In a URL, only the password is hidden. */
function hiddenText(hidden: unknown): string {
  return typeof hidden === 'string' && hidden.includes('://') ? hidden : mask
}

/** What changed between two identities, one sentence each; empty when they are the same. */
export function differences(earlier: JobIdentity, now: JobIdentity): string[] {
  const before = {
    ...earlier,
    agents: earlier.agents.map((agent, i) => comparable(agent, now.agents[i] ?? null)),
    environment: comparable(earlier.environment, now.environment),
    verifier: comparable(earlier.verifier, now.verifier),
  }
  const { tasks: tasksBefore, agents: agentsBefore, imports: importsBefore, ...restBefore } = before
  const { tasks: tasksNow, agents: agentsNow, imports: importsNow, ...restNow } = now
  return [
    ...taskDifferences(tasksBefore, tasksNow),
    ...agentDifferences(agentsBefore, agentsNow),
    ...importDifferences(importsBefore, importsNow),
    ...fieldDifferences('', restBefore, restNow),
  ]
}

function taskDifferences(before: JobIdentity['tasks'], now: JobIdentity['tasks']): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()
  return names.flatMap((name) => {
    const [was = [], is = []] = [before, now].map((tasks) => (Object.hasOwn(tasks, name) ? tasks[name] : undefined))
    if (was.join() === is.join()) return []
    if (was.length === 0) return [`task "${name}" is new`]
    if (is.length === 0) return [`task "${name}" is gone`]
    return [`task "${name}" changed: digest was ${brief(was)}, is ${brief(is)}`]
  })
}

function brief(digests: readonly string[]): string {
  return digests.map((digest) => `${digest.slice(0, 12)}…`).join(' and ')
}

function agentDifferences(before: readonly Json[], now: readonly Json[]): string[] {
  if (JSON.stringify(before) === JSON.stringify(now)) return []
  if (before.length !== now.length)
    return [`agents were ${before.map(nameOf).join(', ')}, are ${now.map(nameOf).join(', ')}`]
  return before.flatMap((was, i) => {
    const is = now[i] ?? null
    if (nameOf(was) !== nameOf(is)) return [`agent was ${nameOf(was)}, is ${nameOf(is)}`]
    return fieldDifferences(`agent ${nameOf(was)}: `, was, is)
  })
}

/** A path that is on one side only means another agent or sandbox, which is reported there. */
function importDifferences(before: JobIdentity['imports'], now: JobIdentity['imports']): string[] {
  return Object.entries(now).flatMap(([path, is]) => {
    const was = Object.hasOwn(before, path) ? before[path] : undefined
    if (was === undefined || was === is) return []
    return [`${path} changed: digest was ${brief([was])}, is ${brief([is])}`]
  })
}

/**
 * The earlier value, or `is` wherever the two cannot be compared because a value is hidden on one side or with another
 * key.
 */
function comparable(was: Json, is: Json): Json {
  if (typeof was === 'string' && typeof is === 'string') return areComparable(was, is) ? was : is
  if (!isObject(was) || !isObject(is)) return was
  return Object.fromEntries(
    Object.entries(was).map(([key, value]) => [
      key,
      Object.hasOwn(is, key) ? comparable(value, is[key] ?? null) : value,
    ]),
  )
}

function areComparable(was: string, is: string): boolean {
  const keys = [keyOfMark(was), keyOfMark(is)]
  if (keys.every((key) => key === null) || isTemplate(was) || isTemplate(is)) return true
  return keys[0] === keys[1]
}

function nameOf(agent: Json): string {
  return isObject(agent) ? String(agent.name ?? agent.importPath ?? 'none') : 'none'
}

/** One sentence for each leaf that differs. */
function fieldDifferences(path: string, was: Json, is: Json): string[] {
  if (JSON.stringify(was) === JSON.stringify(is)) return []
  if ([was, is].every((value) => typeof value === 'string' && keyOfMark(value) !== null)) return [`${path} changed`]
  if (!isObject(was) || !isObject(is)) return [`${path} was ${JSON.stringify(was)}, is ${JSON.stringify(is)}`]
  const separator = path === '' || path.endsWith(' ') ? '' : '.'
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()
  return keys.flatMap((key) => fieldDifferences(`${path}${separator}${key}`, was[key] ?? null, is[key] ?? null))
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
