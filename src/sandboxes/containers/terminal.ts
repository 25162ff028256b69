import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { z } from 'zod'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import type { User } from '../../core/task.ts'
import { sleep } from '../../lib/deadline.ts'
import type { Commands } from './commands.ts'
import { type ContainerEngine, url } from './container-engine.ts'
import { commandVariable } from './script.ts'
import { openExec } from './shell.ts'

const statusSchema = z.object({ Running: z.boolean(), ExitCode: z.number().nullish() })
/** Sets the size itself, because the engine can only do so after the start, and reports when it is ready for input. */
const start = '/bin/stty rows "$1" cols "$2" 2>/dev/null; printf %s "$4"; cd -- "$3" || exit 126; shift 4; exec "$@"'
const lookAgainMs = 1000
/** How long after the end of a connection the engine may take to record the reason. */
const patienceMs = 5000

interface TerminalPlace {
  readonly engine: ContainerEngine
  readonly commands: Commands
  readonly user: User
  readonly cwd: string
}

/** Opens a terminal inside: one connection carries its bytes in both directions for as long as it lives. */
export async function openTerminal(place: TerminalPlace, options: TerminalOptions): Promise<Terminal> {
  const { engine, commands } = place
  const user = options.user ?? place.user
  const [mark, ready] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
  const { id, stream } = await startProgram(place, options, mark, ready)
  const typed = new Typed(stream)
  const said = new Said(ready, () => typed.release())
  stream.on('data', (chunk: Buffer) => said.take(chunk))
  stream.on('error', () => {})
  const exited = waitForEnd(engine, id, stream)
  void exited.then(() => stream.destroy())
  let sizing = Promise.resolve()
  let closing: Promise<void> | undefined
  const end = async () => {
    await commands.kill(mark, user).catch(() => {})
    stream.destroy()
    await exited
  }
  return {
    exited,
    resize: (cols, rows) => {
      if (stream.destroyed) return
      typed.hold()
      sizing = sizing.then(() => setSize(engine, id, cols, rows)).then(() => typed.release())
    },
    write: (data) => typed.write(data),
    onData: (listener) => said.tell(listener),
    close: () => {
      closing ??= end()
      return closing
    },
  }
}

function startProgram(place: TerminalPlace, options: TerminalOptions, mark: string, ready: string) {
  const { cols = 160, rows = 40, argv = ['bash', '--login'], cwd = place.cwd, user = place.user } = options
  const env = { TERM: 'xterm-256color', ...options.env, [commandVariable]: mark }
  return openExec(place.engine, place.commands.container, {
    Cmd: ['/bin/sh', '-c', start, 'sh', String(rows), String(cols), cwd, ready, ...argv],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    User: String(user),
    Tty: true,
  })
}

/**
 * Queues input. Some engines lose input that arrives before a program can read it, and input after a resize must find
 * the new size: until then it waits.
 */
class Typed {
  private waiting: (string | Uint8Array)[] = []
  /** Reasons to wait; the program's start is one. */
  private holds = 1

  constructor(private readonly stream: Duplex) {}

  hold(): void {
    this.holds++
  }

  release(): void {
    if (--this.holds > 0) return
    for (const data of this.waiting) this.stream.write(data)
    this.waiting = []
  }

  write(data: string | Uint8Array): void {
    if (this.holds > 0) this.waiting.push(data)
    else if (!this.stream.destroyed) this.stream.write(data)
  }
}

/** The program's output without the ready marker; buffered until there is a listener. */
class Said {
  private readonly decoder = new StringDecoder('utf8')
  private readonly listeners = new Set<(text: string) => void>()
  private starting: string | null = ''
  private early: string[] | null = []

  constructor(
    private readonly ready: string,
    private readonly onReady: () => void,
  ) {}

  take(chunk: Buffer): void {
    const text = this.withoutReady(this.decoder.write(chunk))
    if (text === null) return
    this.early?.push(text)
    for (const listener of this.listeners) listener(text)
  }

  tell(listener: (text: string) => void): () => void {
    this.listeners.add(listener)
    const missed = this.early ?? []
    this.early = null
    for (const text of missed) listener(text)
    return () => this.listeners.delete(listener)
  }

  /** Null until the marker has arrived. */
  private withoutReady(text: string): string | null {
    if (this.starting === null) return text
    this.starting += text
    const at = this.starting.indexOf(this.ready)
    if (at < 0) return null
    const rest = this.starting.slice(0, at) + this.starting.slice(at + this.ready.length)
    this.starting = null
    this.onReady()
    return rest
  }
}

/** Ignores a terminal that has ended, and retries for one that has not quite started. */
async function setSize(engine: ContainerEngine, id: string, cols: number, rows: number): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const call = { method: 'POST', path: url`/exec/${id}/resize`, query: { h: rows, w: cols } } as const
    const done = await engine.ask(call).then(
      () => true,
      () => false,
    )
    if (done) return
    await sleep(20 * attempt)
  }
}

/** The exit code once the program is gone, as told by the end of the connection or by asking the engine. */
async function waitForEnd(engine: ContainerEngine, id: string, stream: NodeJS.ReadableStream): Promise<number> {
  let ended = false
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  }).then(() => {
    ended = true
  })
  let waitedMs = 0
  for (let pauseMs = 10; ; ) {
    await Promise.race([closed, unrefSleep(lookAgainMs)])
    const answer = await engine.ask({ method: 'GET', path: url`/exec/${id}/json`, accept: [404] }).catch(() => null)
    const status = statusSchema.safeParse(answer?.body)
    if (!status.success) {
      if (ended || answer?.status === 404) return 137
      continue
    }
    if (!status.data.Running) return status.data.ExitCode ?? 137
    if (ended) {
      waitedMs += pauseMs
      if (waitedMs > patienceMs) return 137
      // The connection ends a moment before the engine has recorded the exit.
      await sleep(pauseMs)
      pauseMs = Math.min(500, pauseMs * 2)
    }
  }
}

async function unrefSleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref())
}
