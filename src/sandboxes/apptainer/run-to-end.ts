import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { ExecOptions, ExecResult } from '../../core/sandbox.ts'
import { sleep } from '../../lib/deadline.ts'

const defaultLimitBytes = 1024 * 1024
/** How long after a command's end we still read what its background children left in the pipe. */
const drainMs = 100

/** Waits for a command, keeping the beginning of its output; a timeout or an abort calls `kill`, which must end all of it. */
export async function runToEnd(
  child: ChildProcess,
  options: ExecOptions,
  kill: () => Promise<void>,
): Promise<ExecResult> {
  const limit = options.outputLimitBytes ?? defaultLimitBytes
  const out = collect(child.stdout, limit)
  const err = collect(child.stderr, limit)
  // A command may end without reading what it is given.
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.stdin)
  let timedOut = false
  const late = () => {
    timedOut = true
    void kill()
  }
  const stop = () => void kill()
  const timer = options.timeoutSec === undefined ? undefined : setTimeout(late, options.timeoutSec * 1000)
  options.signal?.addEventListener('abort', stop, { once: true })
  try {
    const closed = once(child, 'close')
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    if (timedOut || options.signal?.aborted) await kill()
    await Promise.race([closed, sleep(drainMs)])
    for (const stream of [child.stdout, child.stderr]) stream?.destroy()
    options.signal?.throwIfAborted()
    const exitCode = timedOut ? 124 : signal === null ? (code ?? 1) : 128 + constants.signals[signal]
    return { exitCode, stdout: out.text(), stderr: err.text(), timedOut, truncated: out.cut() || err.cut() }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
  }
}

function collect(stream: Readable | null, limit: number) {
  const chunks: Buffer[] = []
  let kept = 0
  let seen = 0
  stream?.on('data', (chunk: Buffer) => {
    seen += chunk.length
    const part = chunk.subarray(0, Math.max(0, limit - kept))
    kept += part.length
    if (part.length > 0) chunks.push(part)
  })
  stream?.on('error', () => {})
  return { text: () => Buffer.concat(chunks).toString('utf8'), cut: () => seen > kept }
}
