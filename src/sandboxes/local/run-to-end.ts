import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'
import type { KillableGroup } from './killable.ts'

const defaultLimitBytes = 1024 * 1024
/** How long after a command's end we still read what its background children left in the pipe. */
const drainMs = 100

/** Waits for a command, keeping the beginning of its output; a timeout or an abort kills all its processes. */
export async function runToEnd(
  child: ChildProcess,
  options: ExecOptions,
  group: KillableGroup,
): Promise<{ result: ExecResult; started: boolean }> {
  const limit = options.outputLimitBytes ?? defaultLimitBytes
  const [, stdout, stderr, report] = child.stdio as unknown as [null, Readable, Readable, Readable]
  const out = collect(stdout, limit)
  const err = collect(stderr, limit)
  const status = collect(report, 4096)
  feed(child, options.stdin)
  const stop = () => void killAll(child, group)
  let timedOut = false
  const timer =
    options.timeoutSec === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true
          stop()
        }, options.timeoutSec * 1000)
  options.signal?.addEventListener('abort', stop, { once: true })
  try {
    const closed = once(child, 'close')
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    if (timedOut || options.signal?.aborted) await killAll(child, group)
    await Promise.race([closed, sleep(drainMs)])
    for (const stream of [stdout, stderr, report]) stream.destroy()
    options.signal?.throwIfAborted()
    const started = status.text().includes('exit-code')
    const exitCode = timedOut ? 124 : exitCodeOf(code, signal, started, err.text())
    return {
      started,
      result: {
        exitCode,
        stdout: out.text(),
        stderr: err.text(),
        timedOut,
        truncated: out.truncated() || err.truncated(),
      },
    }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
  }
}

async function killAll(child: ChildProcess, group: KillableGroup): Promise<void> {
  await group.kill()
  child.kill('SIGKILL')
}

function feed(child: ChildProcess, stdin: string | Uint8Array | undefined): void {
  if (stdin === undefined || !child.stdin) return
  // A command may end without reading what it is given.
  child.stdin.on('error', () => {})
  child.stdin.end(stdin)
}

function collect(stream: Readable, limit: number) {
  const chunks: Buffer[] = []
  let kept = 0
  let seen = 0
  stream.on('data', (chunk: Buffer) => {
    seen += chunk.length
    if (kept >= limit) return
    const part = chunk.subarray(0, limit - kept)
    kept += part.length
    chunks.push(part)
  })
  stream.on('error', () => {})
  return { text: () => Buffer.concat(chunks).toString('utf8'), truncated: () => seen > kept }
}

/** A command that cannot be found or entered ends as a shell would end it. */
function exitCodeOf(code: number | null, signal: NodeJS.Signals | null, started: boolean, stderr: string): number {
  if (signal) return 137
  if (started) return code ?? 1
  return /^bwrap: execvp .*: No such file or directory$/m.test(stderr) ? 127 : 126
}
