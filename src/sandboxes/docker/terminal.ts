import { randomBytes } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import { z } from 'zod'
import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import type { User } from '../../core/task.ts'
import { sleep } from '../../lib/deadline.ts'
import type { Commands } from './commands.ts'
import type { Engine } from './engine.ts'
import { commandVariable } from './script.ts'
import { openExec } from './shell.ts'

const statusSchema = z.object({ Running: z.boolean(), ExitCode: z.number().nullish() })
/** Sets the size itself, since the engine can only do so after the start, and says when it is there to be typed to. */
const start = 'stty rows "$1" cols "$2" 2>/dev/null; printf %s "$4"; cd -- "$3" || exit 126; shift 4; exec "$@"'
const lookAgainMs = 1000
/** How long after the end of a connection the engine may take to note why. */
const patienceMs = 5000

interface TerminalPlace {
  readonly engine: Engine
  readonly commands: Commands
  readonly user: User
  readonly cwd: string
}

/** Opens a terminal inside: one connection that carries its bytes both ways for as long as it lives. */
export async function openTerminal(place: TerminalPlace, options: TerminalOptions): Promise<Terminal> {
  const { engine, commands } = place
  const { cols = 160, rows = 40, argv = ['bash', '--login'] } = options
  const user = options.user ?? place.user
  const [mark, ready] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
  const env = { TERM: 'xterm-256color', ...options.env, [commandVariable]: mark }
  const { id, stream } = await openExec(engine, commands.container, {
    Cmd: ['sh', '-c', start, 'sh', String(rows), String(cols), options.cwd ?? place.cwd, ready, ...argv],
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    User: String(user),
    Tty: true,
  })
  const listeners = new Set<(chunk: string) => void>()
  const decoder = new StringDecoder('utf8')
  let early: string[] | null = []
  let starting: string | null = ''
  // Some engines lose what is typed before there is a program to read it; and what is typed after a resize must find the new size.
  let typed: (string | Uint8Array)[] | null = []
  const flush = () => {
    for (const data of typed ?? []) stream.write(data)
    typed = null
  }
  stream.on('data', (chunk: Buffer) => {
    let text = decoder.write(chunk)
    if (starting !== null) {
      starting += text
      const at = starting.indexOf(ready)
      if (at < 0) return
      text = starting.slice(0, at) + starting.slice(at + ready.length)
      starting = null
      if (changes === 0) flush()
    }
    if (early) early.push(text)
    for (const listener of listeners) listener(text)
  })
  stream.on('error', () => {})
  const exited = waitForEnd(engine, id, stream)
  let isOpen = true
  void exited.then(() => {
    isOpen = false
    stream.destroy()
  })
  let sizing = Promise.resolve()
  let changes = 0
  const resize = (cols: number, rows: number) => {
    if (!isOpen) return
    typed ??= []
    changes++
    sizing = sizing
      .then(() => setSize(engine, id, cols, rows))
      .then(() => {
        if (--changes === 0 && starting === null) flush()
      })
  }
  let closing: Promise<void> | undefined
  return {
    exited,
    resize,
    write: (data) => {
      if (typed) typed.push(data)
      else if (isOpen) stream.write(data)
    },
    onData: (listener) => {
      listeners.add(listener)
      const missed = early
      early = null
      for (const chunk of missed ?? []) listener(chunk)
      return () => listeners.delete(listener)
    },
    close: () => {
      closing ??= (async () => {
        await commands.kill(mark, user).catch(() => {})
        stream.destroy()
        await exited
      })()
      return closing
    },
  }
}

/** A terminal that ended meanwhile has no size; one that is not quite there yet soon has. */
async function setSize(engine: Engine, id: string, cols: number, rows: number): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const call = { method: 'POST', path: `/exec/${id}/resize`, query: { h: rows, w: cols } } as const
    const done = await engine.ask(call).then(
      () => true,
      () => false,
    )
    if (done) return
    await sleep(20 * attempt)
  }
}

/** The exit code, once the program is gone: the end of the connection says so, or the engine when it is asked. */
async function waitForEnd(engine: Engine, id: string, stream: NodeJS.ReadableStream): Promise<number> {
  let ended = false
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  }).then(() => {
    ended = true
  })
  let waitedMs = 0
  for (let pauseMs = 10; ; ) {
    await Promise.race([closed, unrefSleep(lookAgainMs)])
    const answer = await engine.ask({ method: 'GET', path: `/exec/${id}/json`, accept: [404] }).catch(() => null)
    const status = statusSchema.safeParse(answer?.body)
    if (!status.success) {
      if (ended || answer?.status === 404) return 137
      continue
    }
    if (!status.data.Running) return status.data.ExitCode ?? 137
    if (ended) {
      waitedMs += pauseMs
      if (waitedMs > patienceMs) return 137
      // The connection ends a moment before the engine has noted the exit.
      await sleep(pauseMs)
      pauseMs = Math.min(500, pauseMs * 2)
    }
  }
}

async function unrefSleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms).unref())
}
