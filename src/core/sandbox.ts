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
  /** Bytes kept of each of stdout and stderr; the rest is read, counted and thrown away. Default 1 MiB. */
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
   * Lets programs inside reach one server of ours, and nothing else, even without network: connections to the door's
   * address inside arrive at `accept`.
   */
  openDoor(accept: (socket: Duplex) => void): Promise<Door>
}

/** A port inside a sandbox that leads to us. */
export interface Door {
  /** As programs inside spell it, for example `http://127.0.0.1:40123`. */
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
  /** Which of the asked-for limits really bite. */
  readonly limits: Readonly<Record<'cpu' | 'memory' | 'pids' | 'storage', boolean>>
  /** Things a reader of the results must know, for example a replaced base image. */
  readonly notes: readonly string[]
  /** For a local sandbox: whether the resident starter runs its commands, or a shell for each one, which is slower. */
  readonly startedBy?: 'starter' | 'shell'
}

/** The note of a sandbox that starts from another base than the task names. */
export function standInNote(image: string, other: string): string {
  return `base image ${image} ${standIn} ${other} is used instead`
}

const standIn = 'is not available here;'

/** Whether a note says that another base stands in: what is installed here says nothing about the one the task names. */
export function isStandInNote(note: string): boolean {
  return note.includes(standIn)
}

/**
 * How far the verifier is from the agent. `fresh`: every agent process is dead, /tests and /logs/verifier hold nothing
 * of the agent's. `shared`: the provider cannot promise that. `separate`: another machine, only artefacts carried over.
 */
export type Isolation = 'fresh' | 'shared' | 'separate'

/** What comes after a freeze. */
export interface FreezeOptions {
  /**
   * `image`: until the next freeze, system files that programs inside changed (core/system-files.ts) are as the image has
   * them, as far as this kind of sandbox can. `agent`, the default: as they were left.
   */
  readonly system?: 'image' | 'agent'
  /** What is written to files from now on is dropped by the next freeze, where this kind of sandbox can. */
  readonly scratch?: boolean
}

/** The code of a freeze that fails because an agent left a system on which nothing runs. */
export const brokenSystem = 'AgentSystemError'

export interface Frozen {
  readonly isolation: Isolation
  /** What `image` put back, perhaps nothing; null where the system is the agent's: that was asked for, or is all this kind can. */
  readonly restored: SystemChanges | null
}

/**
 * The owner's handle on a sandbox. /logs/agent, /logs/verifier and /logs/artifacts are there for anyone to write to,
 * at the start and after every freeze. It must be released with `[Symbol.asyncDispose]`, which may be called twice.
 */
export interface SandboxLease extends Sandbox, AsyncDisposable {
  readonly id: string
  readonly facts: SandboxFacts
  /** What the image itself says about when it is ready, if it says so. */
  readonly healthcheck: Healthcheck | null
  /** Absent where the task sets no limit, or this kind of sandbox does not stop programs for it. */
  readonly storage?: StorageWatch | undefined
  alive(): Promise<boolean>
  /** Later commands run with this network. Throws when the provider cannot. */
  setNetwork(network: Network): Promise<void>
  /** Kills every process and removes /tests and /logs/verifier, keeping all other files. May be called again, to verify again. */
  freeze(how?: FreezeOptions): Promise<Frozen>
}

/** How a kind of sandbox enforces `storage_mb` that stops programs, instead of letting their writes fail. */
export interface StorageWatch {
  /** Aborted when programs inside took more disk than allowed. They were stopped, and no command runs before the next freeze. */
  readonly full: AbortSignal
  /** Looks now, unless programs cannot have taken that much since the last time. */
  check(): Promise<void>
}

/** The code of what fails because programs took more disk than allowed. */
export const storageLimit = 'StorageLimitError'

/** Who holds a sandbox, so that what a dead owner left can be found. */
export interface SandboxOwner {
  readonly job: string
  readonly trial: string
}

/** A directory of the host that programs inside may read, where tools are: equal for every sandbox that has it. */
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
  /** Mounted read-only by a provider whose `can.toolDirs` says so; to any other the caller uploads them. */
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
  /** Builds again what is there already. */
  readonly forceBuild?: boolean
  readonly signal?: AbortSignal
  /** One line of news, for a trial's log. */
  readonly log?: (line: string) => void
}

/** One sandbox something reaped, or would reap. */
export interface Reaped {
  readonly id: string
  readonly owner: SandboxOwner
  readonly what: string
  /** The disk of this machine that it takes, where that is known. */
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
  /** What is there afterwards. */
  readonly bytes: number
  /** Those that were not used for the longest time first. */
  readonly entries: readonly CacheEntry[]
}

export interface PruneOptions {
  /** Instead of the limit among the provider's options. */
  readonly limitBytes?: number
  readonly dryRun?: boolean
}

export interface PreflightOptions {
  /** Asks no cloud. */
  readonly offline?: boolean
  /** The networks that sandboxes will have; without, whether any sandbox can be made at all. */
  readonly networks?: readonly Network['mode'][]
}

export interface ReapOptions {
  readonly dryRun?: boolean
  /** Also removes things whose owner's state is unknown, after this many seconds without a sign of life. */
  readonly olderThanSec?: number
  /** Called with each thing that is kept because its owner's state is unknown. */
  readonly left?: (thing: Reaped) => void
}

/** What one sandbox takes of the process that holds it, and of its user, while a trial runs in it. */
export interface SandboxNeeds {
  readonly descriptors: number
  /** Threads count too, because the system counts them. */
  readonly processes: number
}

/** Where a provider does not say: sockets only, because its sandboxes are not processes of ours. */
export const fewNeeds: SandboxNeeds = { descriptors: 6, processes: 0 }

export interface SandboxProvider {
  readonly name: string
  readonly can: SandboxAbilities
  /** Throws UserError when this machine or account cannot run such sandboxes. Touches nothing. */
  preflight(how?: PreflightOptions): Promise<void>
  /** What it runs on and refuses because of that, a few words each, for example versions. Touches nothing. */
  about?(): Promise<readonly string[]>
  /** Directories of this machine in which its sandboxes take room; when their disk is full, no trial can be judged. */
  readonly dirs?: readonly string[]
  /** True when sandboxes run on other machines, so that the processors and memory of this one do not bound them. */
  readonly remote?: boolean
  /** Default: `fewNeeds`. */
  readonly needs?: SandboxNeeds
  /**
   * Makes what sandboxes of an environment start from, for example builds or pulls its image: once, however many ask at the
   * same time. A provider need not have it, and `lease` must work without it; where it is there, slow building happens here,
   * before a trial takes its place among those that run. Throws as `lease` would.
   */
  prepare?(environment: Environment, options?: PrepareOptions): Promise<void>
  /** Whether `prepare` would find its work done; null where that cannot be told. Touches nothing. */
  isPrepared?(environment: Environment): Promise<boolean | null>
  /** The digest (`sha256:...`) by which a registry knows an image that is here; null when none is known. Touches nothing. */
  imageDigest?(image: string): Promise<string | null>
  /** An aborted signal, or any failure, releases whatever was half-made before it throws. */
  lease(request: SandboxRequest): Promise<SandboxLease>
  /** Removes what owners known to be dead left behind. A live owner's things stay, and so does what may have one. */
  reap(options?: ReapOptions): Promise<readonly Reaped[]>
  /** Brings what is kept for later sandboxes within its limit; nothing that a living process uses goes. A provider may keep nothing. */
  prune?(options?: PruneOptions): Promise<CacheReport>
}
