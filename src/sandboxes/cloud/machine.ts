import type { Network } from '../../core/task.ts'

/** What a shell script printed, and how it ended. */
export interface ScriptResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface ScriptOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Null: wherever the machine starts programs by itself. Default `/`. */
  readonly cwd?: string | null
}

/** A program in a machine that is spoken to in lines of text. */
export interface RemoteProcess {
  write(text: string): Promise<void>
  kill(): Promise<void>
  /** Rejects when the connection to it is lost. */
  readonly exited: Promise<number>
}

export interface RemotePty {
  write(data: Uint8Array): Promise<void>
  /** Left out where the provider has no such request. */
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
 * A machine of a cloud as its own package gives it: the few things that differ between clouds. Everything runs as root.
 * What goes wrong is thrown as a BoundaryError of the sandbox, with a code; a script that fails is a result.
 */
export interface CloudMachine {
  readonly id: string
  /** Runs a POSIX shell script to its end. */
  run(script: string, options?: ScriptOptions): Promise<ScriptResult>
  /** Starts a shell script; `onLine` gets every line of its stdout. */
  stream(script: string, onLine: (line: string) => void): Promise<RemoteProcess>
  /** Starts a shell script on a new pseudo-terminal. */
  openPty(script: string, options: PtyOptions): Promise<RemotePty>
  /** Writes a file whose directory is there. */
  put(path: string, data: Uint8Array): Promise<void>
  /** Reads a file; throws TransferError past the limit or when there is none. */
  get(path: string, limitBytes: number): Promise<Uint8Array>
  alive(): Promise<boolean>
  setNetwork(network: Network): Promise<void>
  /** Puts off the end that the provider itself sets to the machine. */
  extend(): Promise<void>
  /** Kills every process and keeps the files, by the provider's own means; false, or left out, where there are none. */
  restart?(): Promise<boolean>
  /** Done once; a machine that is gone already is fine. */
  destroy(): Promise<void>
}
