import { isIP, isIPv4 } from 'node:net'
import type { Environment, Healthcheck, McpServer, Network, Step, Task, VerifierLimits } from '../../core/task.ts'
import type { EnvironmentToml, HealthcheckToml, McpServerToml, Refuse } from './schema.ts'

export interface EnvironmentContext {
  /** The table's name, for messages. */
  readonly key: string
  /** Schema 1.3 and later: missing sizes stay missing. */
  readonly modern: boolean
  /** The OS if the table does not name one. */
  readonly os: 'linux' | 'windows'
  readonly refuse: Refuse
}

/** Converts an `[environment]` table to our types. */
export function toEnvironment(toml: EnvironmentToml, context: EnvironmentContext): EnvironmentSettings {
  const { key, modern, refuse } = context
  const cpus = toml.cpus ?? (modern ? undefined : 1)
  return defined({
    buildTimeoutSec: toml.build_timeout_sec,
    dockerImage: toml.docker_image || undefined,
    os: toml.os ?? context.os,
    cpus,
    memoryMb: sizeMb(toml, 'memory', context) ?? (modern ? undefined : 2048),
    storageMb: sizeMb(toml, 'storage', context) ?? (modern ? undefined : 10240),
    gpus: toml.gpus,
    gpuTypes: toml.gpu_types,
    tpu: toml.tpu && defined(toml.tpu),
    network: environmentNetwork(toml, key, refuse),
    mcpServers: toml.mcp_servers.map((server, i) => toMcpServer(server, `${key}.mcp_servers[${i}]`, refuse)),
    env: toml.env,
    skillsDir: toml.skills_dir || undefined,
    healthcheck: toml.healthcheck && toHealthcheck(toml.healthcheck),
    workdir: toml.workdir || undefined,
  })
}

/** Converts a health check to our types. */
export function toHealthcheck(toml: HealthcheckToml): Healthcheck {
  return {
    command: toml.command,
    intervalSec: toml.interval_sec,
    timeoutSec: toml.timeout_sec,
    startPeriodSec: toml.start_period_sec,
    startIntervalSec: toml.start_interval_sec,
    retries: toml.retries,
  }
}

/**
 * A size in megabytes, from `memory_mb` or the old `memory = "2G"`, which takes precedence before 1.3 and must agree
 * since.
 */
function sizeMb(toml: EnvironmentToml, name: 'memory' | 'storage', context: EnvironmentContext): number | undefined {
  const text = toml[name]
  const inMb = toml[`${name}_mb`]
  if (text === undefined) return inMb
  const key = `${context.key}.${name}`
  const parsed = parseSizeMb(text) ?? context.refuse(key, 'a size such as "2G", "512M" or "2048K"', text)
  if (context.modern && inMb !== undefined && inMb !== parsed) {
    context.refuse(key, `it to agree with ${name}_mb = ${inMb}`, text, `keep only ${name}_mb`)
  }
  return parsed
}

function parseSizeMb(text: string): number | undefined {
  const [, amount, unit] = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*([GMK])\s*$/i.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const factors: Record<string, number> = { G: 1024, M: 1, K: 1 / 1024 }
  const mb = Math.trunc(Number(amount) * (factors[unit.toUpperCase()] ?? 0))
  return mb > 0 ? mb : undefined
}

function toMcpServer(toml: McpServerToml, key: string, refuse: Refuse): McpServer {
  const { name, url, command, args } = toml
  const transport = toml.transport === 'http' ? 'streamable-http' : toml.transport
  if (transport === 'stdio' && !command) refuse(`${key}.command`, 'a command, which transport "stdio" needs', command)
  if (transport !== 'stdio' && !url) refuse(`${key}.url`, `a url, which transport "${toml.transport}" needs`, url)
  return defined({ name, transport, url, command, args })
}

interface NetworkToml {
  readonly network_mode?: Network['mode'] | undefined
  readonly allowed_hosts?: readonly string[] | undefined
}

/** The network of one phase, or undefined if the phase keeps the environment's. */
export function phaseNetwork(toml: NetworkToml, key: string, refuse: Refuse): Network | undefined {
  const { network_mode: mode, allowed_hosts: hosts } = toml
  const stray = mode === undefined ? hosts !== undefined : mode !== 'allowlist' && (hosts?.length ?? 0) > 0
  if (stray) refuse(`${key}.allowed_hosts`, 'it only together with network_mode = "allowlist"', hosts)
  if (mode === 'allowlist') return { mode, hosts: (hosts ?? []).map((host) => normalizeHost(host, key, refuse)) }
  return mode === undefined ? undefined : { mode }
}

/** An environment's network: its mode, else from the older `allow_internet`, else public. */
function environmentNetwork(toml: EnvironmentToml, key: string, refuse: Refuse): Network {
  const network = phaseNetwork(toml, key, refuse)
  if (network?.mode === 'public' && toml.allow_internet === false) {
    refuse(`${key}.network_mode`, 'it to agree with allow_internet = false', 'public')
  }
  return network ?? { mode: toml.allow_internet === false ? 'no-network' : 'public' }
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

function normalizeHost(given: string, key: string, refuse: Refuse): string {
  const host = given
    .trim()
    .toLowerCase()
    .replace(/(?<!\.)\.+$/, '')
  if (isIP(host) !== 0 || isRange(host)) return host
  const name = host.startsWith('*.') ? host.slice(2) : host
  const isName = isIP(name) === 0 && name.split('.').every((part) => label.test(part))
  if (isName) return host
  return refuse(`${key}.allowed_hosts`, 'host names, *.host names, IP addresses or CIDR ranges', given)
}

function isRange(host: string): boolean {
  const [address = '', bits = '', ...rest] = host.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || isIP(address) === 0) return false
  return Number(bits) <= (isIPv4(address) ? 32 : 128)
}

/** An environment as described in task.toml, before the location of its files is known. */
export type EnvironmentSettings = Omit<Environment, 'dir'>

export interface VerifierSettings extends Omit<VerifierLimits, 'environment'> {
  /** Set only if the task specifies one; otherwise a separate verifier gets a copy of the task's environment. */
  readonly environment?: EnvironmentSettings
}

export interface StepSettings extends Omit<Step, 'dir' | 'instruction' | 'verifier'> {
  readonly verifier: VerifierSettings
}

type Elsewhere = 'name' | 'dir' | 'instruction' | 'environment' | 'verifier' | 'steps' | 'digests'

/** Everything in task.toml, in our types and with all defaults filled in. */
export interface TaskSettings extends Omit<Task, Elsewhere> {
  /** `[task].name`; without it the task is named after its directory. */
  readonly name?: string
  readonly environment: EnvironmentSettings
  readonly verifier: VerifierSettings
  readonly steps: readonly StepSettings[]
}

/** The settings of a new task: the defaults of the newest schema we write. */
export const defaultSettings: TaskSettings = {
  schemaVersion: '1.4',
  description: '',
  authors: [],
  keywords: [],
  metadata: {},
  environment: {
    buildTimeoutSec: 600,
    os: 'linux',
    gpus: 0,
    network: { mode: 'public' },
    mcpServers: [],
    env: {},
  },
  agent: {},
  verifier: { timeoutSec: 600, env: {}, mode: 'shared', collect: [] },
  solution: { env: {} },
  artifacts: [],
  steps: [],
  stepReward: 'mean',
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Drops the keys whose value is undefined. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>
}
