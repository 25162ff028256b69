import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { BoundaryError } from '../../../core/errors.ts'
import { type ExecOptions, storageLimit } from '../../../core/sandbox.ts'
import { sleep } from '../../../lib/deadline.ts'
import { held } from '../../namespaces/run-to-end.ts'
import type { Machine } from '../machine.ts'

export interface BuildCommandOptions extends Omit<ExecOptions, 'signal' | 'stdin'> {
  readonly signal: AbortSignal
  /** What the command reads. */
  readonly input?: AsyncIterable<Uint8Array>
  /** Takes what the command writes, for output that is not text. */
  readonly output?: (stdout: Readable) => Promise<void>
  readonly log?: (line: string) => void
}

export interface BuildCommandResult {
  readonly exitCode: number
  /** The last lines of both streams. */
  readonly tail: readonly string[]
}

/** How long after a command's end we keep reading what its background children left in the pipe. */
const drainMs = 100
const tailLines = 40
/** A build may print a lot; the log keeps the beginning, the error the end. */
const loggedLines = 5000
const lineLimit = 2000

const tooLarge = { code: storageLimit, retryable: false }

/** Runs one command of a build. An abort stops the whole machine, so that none of it keeps running. */
export async function runBuildCommand(
  machine: Machine,
  argv: readonly string[],
  options: BuildCommandOptions,
): Promise<BuildCommandResult> {
  const { signal, input, output, log, ...execOptions } = options
  signal.throwIfAborted()
  const { child, done } = await machine.spawn(argv, execOptions, input ? 'pipe' : 'ignore')
  const stop = () => void machine.stop()
  signal.addEventListener('abort', stop, { once: true })
  // The abort may have happened while the command was being started.
  if (signal.aborted) stop()
  try {
    const exited = once(child, 'exit')
    const closed = once(child, 'close')
    const [, stdout, stderr, report] = child.stdio as unknown as [null, Readable, Readable, Readable]
    const lines = new Lines(log)
    for (const stream of output ? [stderr] : [stdout, stderr]) lines.read(stream)
    report.resume()
    const [code] = (await Promise.all([exited, output?.(held(stdout)), feed(child.stdin, input)]))[0] as [number | null]
    await Promise.race([closed, sleep(drainMs)])
    signal.throwIfAborted()
    if (!machine.alive) throw new BoundaryError('sandbox', 'the build’s sandbox is gone', { code: 'SandboxGoneError' })
    const full = machine.storage?.message
    if (full) throw new BoundaryError('task', `a command of the build was stopped: ${full}`, tooLarge)
    return { exitCode: code ?? 137, tail: lines.end() }
  } finally {
    signal.removeEventListener('abort', stop)
    for (const stream of child.stdio) stream?.destroy()
    await done()
  }
}

async function feed(stdin: NodeJS.WritableStream | null, input: AsyncIterable<Uint8Array> | undefined): Promise<void> {
  if (!stdin) return
  let broken = false
  // A command may end without reading its input; its exit code tells the story.
  stdin.on('error', () => {
    broken = true
  })
  // One promise for all waits: leftover listeners would be a leak, and a warning on stderr.
  const closed = once(stdin, 'close').catch(() => {})
  for await (const chunk of input ?? []) {
    if (broken) break
    if (!stdin.write(chunk)) await Promise.race([once(stdin, 'drain'), closed]).catch(() => {})
  }
  stdin.end()
}

/** Collects lines of several streams in order of arrival. */
class Lines {
  private readonly tail: string[] = []
  private readonly open = new Map<Readable, string>()
  private count = 0

  constructor(private readonly log: ((line: string) => void) | undefined) {}

  read(stream: Readable): void {
    this.open.set(stream, '')
    stream.setEncoding('utf8')
    stream.on('error', () => {})
    stream.on('data', (text: string) => {
      const parts = ((this.open.get(stream) ?? '') + text).split(/\r\n|[\r\n]/)
      this.open.set(stream, (parts.pop() ?? '').slice(-lineLimit))
      for (const line of parts) this.add(line)
    })
  }

  end(): readonly string[] {
    for (const rest of this.open.values()) if (rest !== '') this.add(rest)
    this.open.clear()
    return this.tail
  }

  private add(line: string): void {
    const kept = line.slice(0, lineLimit)
    if (this.tail.push(kept) > tailLines) this.tail.shift()
    this.count++
    if (this.count <= loggedLines) this.log?.(kept)
    if (this.count === loggedLines + 1) this.log?.('(further output is not logged)')
  }
}
