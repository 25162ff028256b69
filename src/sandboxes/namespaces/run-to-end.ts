import { type EventEmitter, once } from 'node:events'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { PassThrough, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'
import { ExhaustionError, exhaustionIn } from '../../lib/exhaustion.ts'
import type { KillableGroup } from './killable.ts'

export const defaultLimitBytes = 1024 * 1024
/** How long after a command's end we keep reading what its background children left in the pipe. */
const drainMs = 100

/** The parts of a command's stream that are used here. */
export interface OutputStream {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'error', listener: () => void): unknown
  destroy(): unknown
}

/** A running command: a ChildProcess, or one that another program of ours started. It emits `exit` and `close`. */
export interface RunningCommand extends EventEmitter {
  readonly stdin: Writable | null
  readonly stdout: OutputStream | null
  readonly stderr: OutputStream | null
  readonly stdio: readonly (OutputStream | Writable | null | undefined)[]
  kill(signal: 'SIGKILL'): unknown
}

/** How a command ended; the caller translates that to an exit code. */
export interface Ended extends Omit<ExecResult, 'exitCode'> {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Waits for a command and keeps the beginning of its output; a timeout or an abort calls `kill`, which must end all of
 * its processes.
 */
export async function runToEnd(child: RunningCommand, options: ExecOptions, kill: () => Promise<void>): Promise<Ended> {
  const limit = options.outputLimitBytes ?? defaultLimitBytes
  const out = collect(child.stdout, limit)
  const err = collect(child.stderr, limit)
  // A command may end without reading its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.stdin)
  let timedOut = false
  let killing: Promise<void> | undefined
  const stop = () => {
    killing ??= kill()
  }
  const late = () => {
    timedOut = true
    stop()
  }
  const timer = options.timeoutSec === undefined ? undefined : setTimeout(late, options.timeoutSec * 1000)
  options.signal?.addEventListener('abort', stop, { once: true })
  // The abort may have happened while the command was being started.
  if (options.signal?.aborted) stop()
  try {
    const closed = once(child, 'close')
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    if (killing) {
      // Nothing may be killed after this: the next command may be in the same group.
      await killing
      await kill()
    }
    await Promise.race([closed, drained()])
    for (const stream of child.stdio) if (stream !== child.stdin) stream?.destroy()
    options.signal?.throwIfAborted()
    return { code, signal, timedOut, stdout: out.text(), stderr: err.text(), truncated: out.cut() || err.cut() }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
  }
}

/** In a busy process the time can be up before anything was read: a pipe's content is read before an immediate runs. */
async function drained(): Promise<void> {
  await sleep(drainMs)
  await setImmediate()
}

/** Keeps the beginning of a stream. */
export function collect(stream: OutputStream | null, limitBytes: number): { text(): string; cut(): boolean } {
  const chunks: Buffer[] = []
  let kept = 0
  let seen = 0
  stream?.on('data', (chunk: Buffer) => {
    seen += chunk.length
    const part = chunk.subarray(0, Math.max(0, limitBytes - kept))
    kept += part.length
    if (part.length > 0) chunks.push(part)
  })
  stream?.on('error', () => {})
  return { text: () => Buffer.concat(chunks).toString('utf8'), cut: () => seen > kept }
}

/**
 * Holds a child's output for a later reader. Once a child has exited, Node discards unread output, so a quick child's
 * output would be lost to a reader who first makes a directory.
 */
export function held(output: Readable): Readable {
  return output.pipe(new PassThrough())
}

/**
 * Waits for a command that reports on descriptor 3 whether it started; a timeout or an abort kills all its processes.
 * Bubblewrap reports every end of a command there, the starter only that it could not start it.
 */
export async function runReported(
  child: RunningCommand,
  options: ExecOptions,
  group: KillableGroup,
  reported: 'end' | 'failure',
): Promise<{ result: ExecResult; started: boolean }> {
  const report = collect(child.stdio[3] as OutputStream, 4096)
  const { code, signal, ...ended } = await runToEnd(child, options, async () => {
    await group.kill()
    child.kill('SIGKILL')
  })
  const said = report.text()
  const started = reported === 'end' ? said.includes('exit-code') : said === ''
  // Nothing inside has run yet, so this text comes from programs of this machine.
  const resource = started || signal !== null || ended.timedOut ? null : exhaustionIn(ended.stderr)
  if (resource !== null)
    throw new ExhaustionError(resource, `cannot enter the sandbox: ${ended.stderr.trim().slice(-300)}`)
  const exitCode = ended.timedOut ? 124 : exitCodeOf({ code, signal, started, said, stderr: ended.stderr })
  return { started, result: { exitCode, ...ended } }
}

interface Outcome extends Pick<Ended, 'code' | 'signal' | 'stderr'> {
  readonly started: boolean
  /** The report. */
  readonly said: string
}

/** A command that cannot be found or entered, or that is killed, gets the exit code that a shell would report. */
function exitCodeOf({ code, signal, started, said, stderr }: Outcome): number {
  if (signal) return 128 + constants.signals[signal]
  if (started) return code ?? 1
  return said === 'missing' || /^bwrap: execvp .*: No such file or directory$/m.test(stderr) ? 127 : 126
}
