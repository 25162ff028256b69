import type { Duplex } from 'node:stream'
import type { SystemChanges } from './system-files.ts'
import type { Environment, Healthcheck, Network, User } from './task.ts'

export interface ExecOptions {
  readonly cwd?: string
  /** Added to the sandbox's own environment for this command only. */
  readonly env?: Readonly<Record<string, string>>
  readonly user?: User
  readonly timeoutSec?: number
  readonly signal?: AbortSignal
  readonly stdin?: string | Uint8Array
  /** How many bytes of stdout, and of stderr, are kept; the rest is read and discarded. Default 1 MiB. */
  readonly outputLimitBytes?: number
}

export interface ExecResult {
  /** 128 + signal for a killed command; 124 after a timeout. */
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly timedOut: boolean
  /** True when output went over the limit and was cut. */
  readonly truncated: boolean
}

/** A pseudo-terminal inside a sandbox. */
export interface Terminal {
  write(data: string | Uint8Array): void
  /** Calls back with every chunk the program writes; returns a function that stops it. */
  onData(listener: (chunk: string) => void): () => void
  resize(cols: number, rows: number): void
  /** Resolves with the exit code once the program in the terminal is gone. */
  readonly exited: Promise<number>
  close(): Promise<void>
}

export interface TerminalOptions {
  readonly cols?: number
  readonly rows?: number
  /** Default: a login bash. */
  readonly argv?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly user?: User
}

/**
 * A running isolated machine, as agents and verifiers see it.
 * A failing command is a result, a timeout is a result whose whole process tree is dead;
 * only a broken sandbox throws (BoundaryError 'sandbox'), and an aborted signal throws AbortError.
 */
export interface Sandbox {
  /** Where commands run unless told otherwise. */
  readonly workdir: string
  /** Runs `argv` directly, not through a shell. Returns when the command itself exits; its background children live on. */
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>
  read(path: string): Promise<Uint8Array>
  /** Creates parent directories. */
  write(path: string, data: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>
  /** Copies the contents of a host directory into `target` (created if missing), keeping modes and symlinks. */
  uploadDir(source: string, target: string): Promise<void>
  /** Copies the contents of a directory to the host. Links that leave the directory are dropped, never followed. */
  downloadDir(source: string, target: string, options?: DownloadOptions): Promise<void>
  openTerminal(options?: TerminalOptions): Promise<Terminal>
  /**
   * Lets programs inside reach one server of ours and nothing else, even without a network: connections to the door's
   * address inside arrive at `accept`.
   */
  openDoor(accept: (socket: Duplex) => void): Promise<Door>
}

/** A port inside a sandbox that leads to us. */
export interface Door {
  /** The address that programs inside use, for example `http://127.0.0.1:40123`. */
  readonly url: string
  close(): Promise<void>
}

export interface DownloadOptions {
  /** tar-style patterns of names to leave out. */
  readonly exclude?: readonly string[]
  /** Stop with an error past this size. Default 1 GiB. */
  readonly limitBytes?: number
  /** The same for files, directories and links together. Default 200,000. */
  readonly limitEntries?: number
}

/** What a sandbox turned out to be: kept in the trial record. */
export interface SandboxFacts {
  readonly provider: string
  /** Which of the requested limits are actually enforced. */
  readonly limits: Readonly<Record<'cpu' | 'memory' | 'pids' | 'storage', boolean>>
  /** Things a reader of the results must know, for example a replaced base image. */
  readonly notes: readonly string[]
  /** For a local sandbox: whether the resident starter runs its commands, or a shell for each one, which is slower. */
  readonly startedBy?: 'starter' | 'shell'
}

/** The note of a sandbox that starts from a base other than the one the task names. */
export function standInNote(image: string, other: string): string {
  return `base image ${image} ${standIn} using ${other} instead`
}

const standIn = 'is not available here;'

/**
 * Whether a note says that another base stands in: what is installed here says nothing about the base the task names.
 */
export function isStandInNote(note: string): boolean {
  return note.includes(standIn)
}

/**
 * How well the verifier is separated from the agent. `fresh`: every agent process is dead, and /tests and
 * /logs/verifier hold nothing of the agent's. `shared`: the provider cannot promise that. `separate`: another machine,
 * to which only artifacts were copied.
 */
export type Isolation = 'fresh' | 'shared' | 'separate'

/** The state in which a freeze leaves a sandbox. */
export interface FreezeOptions {
  /**
   * `image`: until the next freeze, system files that programs inside changed (core/system-files.ts) are restored to
   * the image's version, as far as this kind of sandbox can. `agent`, the default: they stay as they were left.
   */
  readonly system?: 'image' | 'agent'
  /** Drops, at the next freeze, whatever is written to files from now on, where this kind of sandbox can. */
  readonly scratch?: boolean
}

/** The code of a freeze that fails because the agent left a system on which nothing runs. */
export const brokenSystem = 'AgentSystemError'

export interface Frozen {
  readonly isolation: Isolation
  /**
   * What `image` restored, perhaps nothing; null when the agent's system is in use, by request or because this kind of
   * sandbox can do no more.
   */
  readonly restored: SystemChanges | null
}

/**
 * The owner's handle on a sandbox. /logs/agent, /logs/verifier and /logs/artifacts exist and anyone may write to them,
 * at the start and after every freeze. It must be released with `[Symbol.asyncDispose]`, which may be called twice.
 */
export interface SandboxLease extends Sandbox, AsyncDisposable {
  readonly id: string
  readonly facts: SandboxFacts
  /** The image's own health check, if it has one. */
  readonly healthcheck: Healthcheck | null
  /** Absent when the task sets no limit, or this kind of sandbox does not stop programs that exceed one. */
  readonly storage?: StorageWatch | undefined
  alive(): Promise<boolean>
  /** Runs later commands with this network. Throws when the provider cannot. */
  setNetwork(network: Network): Promise<void>
  /**
   * Kills every process and removes /tests and /logs/verifier; all other files stay. May be called again, to verify
   * again.
   */
  freeze(how?: FreezeOptions): Promise<Frozen>
}

/** Enforces `storage_mb` for a kind of sandbox that stops programs instead of letting their writes fail. */
export interface StorageWatch {
  /**
   * Aborted when programs inside used more disk than allowed. They have been stopped, and no command runs before the
   * next freeze.
   */
  readonly full: AbortSignal
  /** Checks now, unless programs cannot have used that much since the last check. */
  check(): Promise<void>
}

/** The error code when programs used more disk than allowed. */
export const storageLimit = 'StorageLimitError'

/** Who holds a sandbox, so that leftovers of a dead owner can be found. */
export interface SandboxOwner {
  readonly job: string
  readonly trial: string
}

/** A host directory with tools that programs inside may read, identical for every sandbox that has it. */
export interface ToolDir {
  readonly source: string
  /** Directly under the root, for example `/ot-agent-tools`. */
  readonly target: string
}

export interface SandboxRequest extends PrepareOptions {
  readonly owner: SandboxOwner
  /** Templates in `env` are resolved by the caller. */
  readonly environment: Environment
  /** Added to the environment of every command. */
  readonly env?: Readonly<Record<string, string>>
  /** Mounted read-only by providers whose `can.toolDirs` says so; for all others the caller uploads them. */
  readonly toolDirs?: readonly ToolDir[]
}

export interface SandboxAbilities {
  readonly gpu: boolean
  readonly compose: boolean
  /** Prebuilt images named by `docker_image`. */
  readonly images: boolean
  readonly windows: boolean
  readonly network: readonly Network['mode'][]
  /** Whether the network can differ between phases of one trial. */
  readonly networkPerPhase: boolean
  /** Whether it mounts `SandboxRequest.toolDirs` itself; absent means no. */
  readonly toolDirs?: boolean
}

export interface PrepareOptions {
  /** Builds again even what exists. */
  readonly forceBuild?: boolean
  readonly signal?: AbortSignal
  /** Called with single lines of progress, for a trial's log. */
  readonly log?: (line: string) => void
}

/** A sandbox, or another leftover, that was reaped or would be. */
export interface Reaped {
  readonly id: string
  readonly owner: SandboxOwner
  readonly what: string
  /** Disk space it takes on this machine, if known. */
  readonly bytes?: number
}

/** Something that is kept so that later sandboxes start sooner. */
export interface CacheEntry {
  /** For example `layers`. */
  readonly kind: string
  readonly name: string
  readonly bytes: number
  readonly lastUsedAt: string
  readonly state: 'kept' | 'in use' | 'removed'
}

export interface CacheReport {
  readonly limitBytes: number
  /** What remains afterwards. */
  readonly bytes: number
  /** Least recently used first. */
  readonly entries: readonly CacheEntry[]
}

export interface PruneOptions {
  /** Overrides the limit in the provider's options. */
  readonly limitBytes?: number
  readonly dryRun?: boolean
}

export interface PreflightOptions {
  /** Contacts no cloud. */
  readonly offline?: boolean
  /** The networks that sandboxes will have; absent: checks whether any sandbox can be made at all. */
  readonly networks?: readonly Network['mode'][]
}

export interface ReapOptions {
  readonly dryRun?: boolean
  /** Also removes things whose owner's state is unknown, after this many seconds without a sign of life. */
  readonly olderThanSec?: number
  /** Called with each thing that is kept because its owner's state is unknown. */
  readonly left?: (thing: Reaped) => void
}

/** What one sandbox takes from the limits of its owner process and user while a trial runs in it. */
export interface SandboxNeeds {
  readonly descriptors: number
  /** Includes threads, because the system counts them too. */
  readonly processes: number
}

/** For a provider that does not say: sockets only, because its sandboxes are not processes of ours. */
export const fewNeeds: SandboxNeeds = { descriptors: 6, processes: 0 }

export interface SandboxProvider {
  readonly name: string
  readonly can: SandboxAbilities
  /** Throws UserError when this machine or account cannot run such sandboxes. Touches nothing. */
  preflight(how?: PreflightOptions): Promise<void>
  /** What it runs on and what it refuses because of that, a few words each, for example versions. Touches nothing. */
  about?(): Promise<readonly string[]>
  /** Directories on this machine where its sandboxes take up space; when their disk is full, no trial can be judged. */
  readonly dirs?: readonly string[]
  /** True when sandboxes run on other machines, so this machine's processors and memory do not limit them. */
  readonly remote?: boolean
  /** Default: `fewNeeds`. */
  readonly needs?: SandboxNeeds
  /**
   * Makes what sandboxes of an environment start from, for example builds or pulls its image: once, however many
   * callers ask at the same time. Optional, and `lease` must work without it; where it exists, slow builds happen here,
   * before a trial takes a slot among the running ones. Throws as `lease` would.
   */
  prepare?(environment: Environment, options?: PrepareOptions): Promise<void>
  /** Whether `prepare` would have nothing to do; null when unknown. Touches nothing. */
  isPrepared?(environment: Environment): Promise<boolean | null>
  /** The digest (`sha256:...`) by which a registry knows a local image; null when unknown. Touches nothing. */
  imageDigest?(image: string): Promise<string | null>
  /** On an aborted signal or any failure, releases whatever is half-made before it throws. */
  lease(request: SandboxRequest): Promise<SandboxLease>
  /** Removes what owners known to be dead left behind. It keeps what belongs, or may belong, to a live owner. */
  reap(options?: ReapOptions): Promise<readonly Reaped[]>
  /**
   * Shrinks what is kept for later sandboxes to its limit, sparing what a living process uses. A provider may keep
   * nothing.
   */
  prune?(options?: PruneOptions): Promise<CacheReport>
}
