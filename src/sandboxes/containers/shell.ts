import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { z } from 'zod'
import type { User } from '../../core/task.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import { Frames, UntilMark } from './frames.ts'
import { prelude, renderPing } from './script.ts'

const createdSchema = z.object({ Id: z.string() })

export interface ExecSpec {
  readonly Cmd: readonly string[]
  readonly User?: string
  readonly Env?: readonly string[]
  readonly WorkingDir?: string
  readonly Tty?: boolean
}

/** Starts a program in a container and takes over its streams. */
export async function openExec(
  engine: ContainerEngine,
  container: string,
  spec: ExecSpec,
): Promise<{ id: string; stream: Duplex }> {
  const json = { AttachStdin: true, AttachStdout: true, AttachStderr: true, ...spec }
  const created = await engine.ask({ method: 'POST', path: url`/containers/${container}/exec`, json })
  const { Id: id } = createdSchema.parse(created.body)
  const stream = await engine.hijack(url`/exec/${id}/start`, { Detach: false, Tty: spec.Tty ?? false })
  return { id, stream }
}

/** How a command ended. */
export type ShellEnd =
  | { readonly kind: 'ended'; readonly exitCode: number; readonly reusable: boolean }
  /** The shell itself is gone: killed by what it ran or by another program, or with its container. */
  | { readonly kind: 'lost'; readonly started: boolean }

export interface Sinks {
  /** Returns false to pause until `resume`. */
  readonly stdout: (chunk: Buffer) => boolean
  readonly stderr: (chunk: Buffer) => boolean
}

/** How long an idle shell may take to answer. */
const answerSec = 0.5

/**
 * How much output is held until the shell confirms its script. A shell of the agent's may never confirm, and print
 * forever.
 */
const mostEarlyBytes = 64 * 2 ** 20

/** A shell inside a container that waits for commands on one long-lived connection, or has just one to run. */
export class Shell {
  private onChunk: ((channel: 'stdout' | 'stderr', chunk: Buffer) => void) | undefined
  private lost = false
  private onLost: (() => void) | undefined

  /** `lostMark`: the text on stdout that says the shell is gone, where the connection outlives it. */
  private constructor(
    private readonly stream: Duplex,
    lostMark: string | null = null,
  ) {
    const gone = () => {
      this.lost = true
      this.onLost?.()
    }
    const stdout = lostMark && new UntilMark(Buffer.from(lostMark), (chunk) => this.onChunk?.('stdout', chunk))
    const frames = new Frames((channel, chunk) => {
      if (channel === 'stderr' || !stdout) return this.onChunk?.(channel, chunk)
      stdout.feed(chunk)
      if (stdout.found) gone()
    })
    stream.on('data', (chunk: Buffer) => frames.feed(chunk))
    stream.on('close', gone)
    stream.on('end', gone)
    stream.on('error', gone)
  }

  /** Opens a shell that reads commands. */
  static async open(engine: ContainerEngine, container: string, user: User): Promise<Shell> {
    const { stream } = await openExec(engine, container, { Cmd: ['/bin/sh'], User: String(user) })
    const shell = new Shell(stream)
    stream.write(prelude)
    return shell
  }

  /** Opens a shell for one command, whose stdin is the connection. */
  static async once(engine: ContainerEngine, container: string, script: string, user: User): Promise<Shell> {
    const Cmd = ['/bin/sh', '-c', `${prelude}${script}`]
    const { stream } = await openExec(engine, container, { Cmd, User: String(user) })
    return new Shell(stream)
  }

  /**
   * Attaches to the shell on the streams of a container's process 1, which prints `lostMark` when that shell is gone.
   */
  static async attach(engine: ContainerEngine, container: string, lostMark: string): Promise<Shell> {
    const how = 'stream=1&stdin=1&stdout=1&stderr=1'
    const stream = await engine.hijack(`${url`/containers/${container}/attach`}?${how}`)
    const shell = new Shell(stream, lostMark)
    stream.write(prelude)
    return shell
  }

  get alive(): boolean {
    return !this.lost
  }

  /** Sends a script that begins and ends by printing `mark`, and waits for its end. One at a time. */
  run(script: string | null, mark: string, sinks: Sinks): Promise<ShellEnd> {
    const bytes = Buffer.from(mark)
    const readers = {
      stdout: new UntilMark(bytes, (chunk) => this.pass(sinks.stdout(chunk))),
      stderr: new UntilMark(bytes, (chunk) => this.pass(sinks.stderr(chunk))),
    }
    let toSkip = bytes.length
    const early: Buffer[] = []
    let earlyBytes = 0
    return new Promise((resolve) => {
      const finish = (end: ShellEnd) => {
        this.onChunk = undefined
        this.onLost = undefined
        // The last sink may have paused the stream, and nothing would resume it for the next command.
        this.stream.resume()
        if (end.kind === 'lost') for (const reader of Object.values(readers)) reader.end()
        resolve(end)
      }
      this.onChunk = (channel, chunk) => {
        // stderr starts with the mark that confirms the script. Anything before it belongs to no command.
        const skipped = channel === 'stderr' ? Math.min(toSkip, chunk.length) : 0
        toSkip -= skipped
        if (channel === 'stdout' && toSkip > 0) {
          early.push(chunk)
          earlyBytes += chunk.length
          // A shell that printed this much has started.
          if (earlyBytes > mostEarlyBytes) finish({ kind: 'lost', started: true })
        } else if (skipped < chunk.length) readers[channel].feed(chunk.subarray(skipped))
        if (toSkip === 0) for (const held of early.splice(0)) readers.stdout.feed(held)
        const report = /^:(\d+):([01])\./.exec(readers.stdout.tail)
        if (!readers.stderr.found || !report) return
        finish({ kind: 'ended', exitCode: Number(report[1]), reusable: report[2] === '1' && !this.lost })
      }
      const lost = () => finish({ kind: 'lost', started: toSkip === 0 })
      this.onLost = lost
      if (this.lost) lost()
      else if (script !== null) this.stream.write(script)
    })
  }

  /** Whether the shell still responds in time. */
  async answers(): Promise<boolean> {
    const mark = randomBytes(12).toString('hex')
    const answer = this.run(renderPing(mark), mark, { stdout: () => true, stderr: () => true })
    const end = await withDeadline(answerSec, new AbortController().signal, () => answer)
    return end !== expired && end.kind === 'ended'
  }

  /** The stdin of the one command. */
  get stdin(): Duplex {
    return this.stream
  }

  resume(): void {
    this.stream.resume()
  }

  close(): void {
    this.stream.destroy()
  }

  private pass(ready: boolean): void {
    if (!ready) this.stream.pause()
  }
}
