/** A user inside a sandbox, by id or name. */
export type User = string | number

/** What a phase may reach. `allowlist` with no hosts denies everything. */
export type Network =
  | { readonly mode: 'public' }
  | { readonly mode: 'no-network' }
  | { readonly mode: 'allowlist'; readonly hosts: readonly string[] }

export interface Healthcheck {
  readonly command: string
  readonly intervalSec: number
  readonly timeoutSec: number
  readonly startPeriodSec: number
  readonly startIntervalSec: number
  readonly retries: number
}

export interface McpServer {
  readonly name: string
  readonly transport: 'sse' | 'streamable-http' | 'stdio'
  readonly url?: string
  readonly command?: string
  readonly args: readonly string[]
}

/** What a sandbox must be for a task. `dir` holds the Dockerfile or compose file, if any. */
export interface Environment {
  readonly dir: string
  readonly buildTimeoutSec: number
  readonly dockerImage?: string
  readonly os: 'linux' | 'windows'
  /** Undefined means the sandbox's own default (schema 1.3 and later). */
  readonly cpus?: number
  readonly memoryMb?: number
  readonly storageMb?: number
  readonly gpus: number
  readonly gpuTypes?: readonly string[]
  readonly tpu?: { readonly type: string; readonly topology?: string }
  readonly network: Network
  readonly mcpServers: readonly McpServer[]
  /** Values may be `${VAR}` or `${VAR:-default}` templates of host variables, not yet resolved. */
  readonly env: Readonly<Record<string, string>>
  readonly skillsDir?: string
  readonly healthcheck?: Healthcheck
  readonly workdir?: string
}

export interface Artifact {
  readonly source: string
  readonly destination?: string
  readonly exclude: readonly string[]
  readonly service?: string
}

export interface AgentLimits {
  /** Undefined means no limit. */
  readonly timeoutSec?: number
  readonly user?: User
  /** Undefined means the environment's network. */
  readonly network?: Network
}

/** A command run in the agent's sandbox before a separate verifier looks at the artifacts. */
export interface Collect {
  readonly command: string
  readonly service: string
  readonly timeoutSec: number
  readonly user?: User
}

export interface VerifierLimits {
  readonly timeoutSec: number
  readonly env: Readonly<Record<string, string>>
  readonly user?: User
  readonly network?: Network
  /** `separate`: tests run in a second sandbox that gets only the declared artifacts. */
  readonly mode: 'shared' | 'separate'
  /** The second sandbox, when the task describes one; otherwise a copy of the task's environment. */
  readonly environment?: Environment
  readonly collect: readonly Collect[]
}

export interface Step {
  readonly name: string
  readonly dir: string
  readonly instruction: string
  readonly agent: AgentLimits
  readonly verifier: VerifierLimits
  /** Rewards that must be reached for the next step to run; a bare number gates the key `reward`. */
  readonly minReward?: Readonly<Record<string, number>>
  readonly healthcheck?: Healthcheck
  readonly artifacts: readonly Artifact[]
}

/** A Harbor task directory, read and frozen. Its identity is `digest`. */
export interface Task {
  /** `[task].name` ("org/name"), otherwise the directory's name. */
  readonly name: string
  readonly dir: string
  readonly schemaVersion: string
  readonly version?: string
  readonly source?: string
  readonly description: string
  readonly authors: readonly { readonly name: string; readonly email?: string }[]
  readonly keywords: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** The text for the agent, canary lines removed; empty for a multi-step task. */
  readonly instruction: string
  readonly environment: Environment
  readonly agent: AgentLimits
  readonly verifier: VerifierLimits
  readonly solution: { readonly env: Readonly<Record<string, string>> }
  readonly artifacts: readonly Artifact[]
  /** Empty for a single-step task. */
  readonly steps: readonly Step[]
  readonly stepReward: 'mean' | 'final'
  readonly digests: TaskDigests
}

/**
 * What trials are named after and records say about a task: known without reading the task if none of its files
 * changed.
 */
export type NamedTask = Pick<Task, 'name' | 'dir' | 'digests'>

/** The key under `[metadata]` of task.toml that lets an agent change system files; other programs ignore it. */
export const mayModifySystemKey = 'agent_may_modify_system'

/**
 * Whether a task lets its agent change programs, libraries and startup files: then tests run only on the agent's
 * system.
 */
export function mayModifySystem({ metadata }: Pick<Task, 'metadata'>): boolean {
  return metadata[mayModifySystemKey] === true
}

export interface TaskDigests {
  /** Packager content hash, hex: the identity of a task. */
  readonly content: string
  /** `dirhash` of the whole directory, hex: Harbor's `task_checksum`. */
  readonly dirhash: string
}
