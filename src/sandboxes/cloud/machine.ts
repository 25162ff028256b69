import type { Network } from '../../core/task.ts'

/** What a shell script printed, and how it ended. */
export interface ScriptResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface ScriptOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Null: the directory in which the machine starts programs by default. Default `/`. */
  readonly cwd?: string | null
}

/** A program in a machine that communicates in lines of text. */
export interface RemoteProcess {
  write(text: string): Promise<void>
  kill(): Promise<void>
  /** Rejects when the connection to the program is lost. */
  readonly exited: Promise<number>
}

export interface RemotePty {
  write(data: Uint8Array): Promise<void>
  /** Absent when the provider offers no such request. */
  resize?(cols: number, rows: number): Promise<void>
  kill(): Promise<void>
  readonly exited: Promise<number>
}

export interface PtyOptions extends ScriptOptions {
  readonly cols: number
  readonly rows: number
  readonly onData: (data: Uint8Array) => void
}

/**
 * A cloud machine as the provider's package offers it: the few things that differ between clouds. Everything runs as
 * root. Errors are thrown as BoundaryErrors of the sandbox, with a code; a failing script is a result.
 */
export interface CloudMachine {
  readonly id: string
  /** Runs a POSIX shell script to its end. */
  run(script: string, options?: ScriptOptions): Promise<ScriptResult>
  /** Starts a shell script; `onLine` gets every line of its stdout. */
  stream(script: string, onLine: (line: string) => void): Promise<RemoteProcess>
  /** Starts a shell script on a new pseudo-terminal. */
  openPty(script: string, options: PtyOptions): Promise<RemotePty>
  /** Writes a file whose directory exists. */
  put(path: string, data: Uint8Array): Promise<void>
  /** Reads a file; throws TransferError if it exceeds the limit or does not exist. */
  get(path: string, limitBytes: number): Promise<Uint8Array>
  alive(): Promise<boolean>
  setNetwork(network: Network): Promise<void>
  /** Postpones the end that the provider itself sets for the machine. */
  extend(): Promise<void>
  /** Kills every process and keeps the files, by the provider's own means; false, or absent, when it has none. */
  restart?(): Promise<boolean>
  /** Called once; a machine that is already gone is fine. */
  destroy(): Promise<void>
}
