import type { Terminal, TerminalOptions } from '../../core/sandbox.ts'
import type { CloudMachine, RemotePty } from './machine.ts'
import { resizeScript, stopScript, terminalScript } from './scripts.ts'

export interface TerminalPlace {
  readonly id: string
  readonly user: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Opens a terminal on a live connection: nothing is polled. */
export async function openTerminal(
  machine: CloudMachine,
  place: TerminalPlace,
  options: TerminalOptions,
): Promise<Terminal> {
  const { id, user } = place
  const argv = options.argv ?? ['bash', '--login']
  const size = { cols: options.cols ?? 160, rows: options.rows ?? 40 }
  const output = new Output()
  const pty = await machine.openPty(terminalScript(id, user, place.cwd, argv), {
    ...size,
    env: { TERM: 'xterm-256color', ...place.env },
    cwd: '/',
    onData: (data) => output.take(data),
  })
  const queue = new Queue()
  const stop = () => machine.run(stopScript(id, user)).then(() => undefined)
  // When a terminal's connection breaks, the terminal has ended, both for us and for the program in it.
  const exited = pty.exited
    .catch(() => 255)
    .then(async (code) => {
      await stop().catch(() => {})
      return code
    })
  const close = async () => {
    await Promise.allSettled([stop(), pty.kill()])
    await exited
  }
  return {
    exited,
    write: (data) => queue.add(() => pty.write(Buffer.from(data))),
    onData: (listener) => output.listen(listener),
    resize: (cols, rows) => queue.add(() => resize({ machine, pty, id }, cols, rows)),
    close,
  }
}

interface OpenPty {
  readonly machine: CloudMachine
  readonly pty: RemotePty
  readonly id: string
}

async function resize({ machine, pty, id }: OpenPty, cols: number, rows: number): Promise<void> {
  if (pty.resize) await pty.resize(cols, rows)
  else await machine.run(resizeScript(id, cols, rows))
}

/** Output that arrives before there is a listener is not lost: the first listener gets it. */
class Output {
  private readonly decoder = new TextDecoder()
  private readonly listeners = new Set<(chunk: string) => void>()
  private early = ''

  take(data: Uint8Array): void {
    const text = this.decoder.decode(data, { stream: true })
    if (text === '') return
    if (this.listeners.size === 0) this.early += text
    for (const listener of this.listeners) listener(text)
  }

  listen(listener: (chunk: string) => void): () => void {
    this.listeners.add(listener)
    const early = this.early
    this.early = ''
    if (early !== '') queueMicrotask(() => listener(early))
    return () => this.listeners.delete(listener)
  }
}

/** Sends requests to one terminal one after another; a request to a terminal that has ended fails silently. */
class Queue {
  private last: Promise<unknown> = Promise.resolve()

  add(request: () => Promise<unknown>): void {
    this.last = this.last.then(request).catch(() => {})
  }
}
