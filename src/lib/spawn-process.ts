import {
  type ChildProcess,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  type ExecFileOptions,
  execFile,
  type SpawnOptions,
  type SpawnOptionsWithoutStdio,
  type SpawnOptionsWithStdioTuple,
  type StdioNull,
  type StdioPipe,
  spawn,
} from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { codeOf, ExhaustionError, exhaustedBy, patiently } from './exhaustion.ts'

type Args = readonly string[]

/**
 * Starts a program and waits until it runs, so that a returned child always has its process and its streams. Every
 * process of this program is started here. If descriptors, processes or memory have run out, it waits for a moment, and
 * then throws an ExhaustionError; any other error, for a missing program for example, is thrown unchanged. Listeners
 * must be added before anything else is awaited.
 */
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithStdioTuple<StdioPipe, StdioPipe, StdioPipe>,
): Promise<ChildProcessByStdio<Writable, Readable, Readable>>
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithStdioTuple<StdioNull, StdioPipe, StdioPipe>,
): Promise<ChildProcessByStdio<null, Readable, Readable>>
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithStdioTuple<StdioNull, StdioPipe, StdioNull>,
): Promise<ChildProcessByStdio<null, Readable, null>>
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithStdioTuple<StdioPipe, StdioNull, StdioPipe>,
): Promise<ChildProcessByStdio<Writable, null, Readable>>
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithStdioTuple<StdioNull, StdioNull, StdioPipe>,
): Promise<ChildProcessByStdio<null, null, Readable>>
export function spawnProcess(
  program: string,
  args: Args,
  options: SpawnOptionsWithoutStdio & { readonly stdio: 'pipe' },
): Promise<ChildProcessWithoutNullStreams>
export function spawnProcess(program: string, args: Args, options: SpawnOptions): Promise<ChildProcess>
export function spawnProcess(program: string, args: Args, options: SpawnOptions): Promise<ChildProcess> {
  return patiently(async () => {
    try {
      // Failures from before the fork are thrown here, others arrive as an event.
      const child = spawn(program, args, options)
      await once(child, 'spawn')
      return child
    } catch (error) {
      throw explained(error, program)
    }
  })
}

/** Runs a program to its end; fails if the program does, with its output as `stdout` and `stderr` of the error. */
export function execProcess(
  program: string,
  args: Args,
  options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return patiently(async () => {
    try {
      return await promisify(execFile)(program, args, { ...options, encoding: 'utf8' })
    } catch (error) {
      throw explained(error, program)
    }
  })
}

function explained(error: unknown, program: string): unknown {
  const resource = exhaustedBy(error)
  if (resource === null) return error
  return new ExhaustionError(resource, `cannot start ${program}: this machine has run out of ${resource}`, error)
}

/** Signals one process. False if no process has that pid. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  return send(pid, pid, signal)
}

/** Signals every process of the group that a process leads. False when none is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  return send(leader, -leader, signal)
}

/** To the kernel, 0 is the caller's own group and -1 is every process, so a misread number must never get there. */
function send(pid: number, target: number, signal: NodeJS.Signals | 0): boolean {
  if (!Number.isSafeInteger(pid) || pid < 2) return false
  try {
    return process.kill(target, signal)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
