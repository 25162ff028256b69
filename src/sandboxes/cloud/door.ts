import { Duplex } from 'node:stream'
import type { Door } from '../../core/sandbox.ts'
import { shellQuote } from '../../lib/shell.ts'
import { cloudFailure } from './failures.ts'
import type { CloudMachine } from './machine.ts'
import { perlRelay, pythonRelay } from './relay.ts'

const startScript = `if command -v python3 > /dev/null; then exec python3 -u -c ${shellQuote(pythonRelay)}
elif command -v perl > /dev/null; then exec perl -e ${shellQuote(perlRelay)}
else echo none; fi`

/**
 * Opens a port inside whose connections arrive here: a small program inside listens and talks to us in lines over its
 * stdin and stdout. So the cloud need not reach anything of ours, and it works without a network, too.
 */
export async function openDoor(machine: CloudMachine, accept: (socket: Duplex) => void): Promise<Door> {
  const sockets = new Map<string, DoorSocket>()
  let port: (word: string) => void = () => {}
  const opened = new Promise<string>((resolve) => {
    port = resolve
  })
  // A program inside may connect before we know that the listener is running.
  const send = makeSender(async (text) => (await starting).write(text))
  const starting = machine.stream(startScript, (line) => {
    const [kind = '', id = '', data = ''] = line.split(' ')
    if (kind === 'port' || kind === 'none') return port(kind === 'port' ? id : '')
    if (kind === 'open') {
      const socket = new DoorSocket(id, send, () => sockets.delete(id))
      sockets.set(id, socket)
      accept(socket)
    } else if (kind === 'data') sockets.get(id)?.hear(Buffer.from(data, 'base64'))
    else if (kind === 'end') sockets.get(id)?.push(null)
  })
  const relay = await starting
  const ended = relay.exited.then(
    () => '',
    () => '',
  )
  const number = await Promise.race([opened, ended])
  if (number === '') {
    await relay.kill()
    throw cloudFailure(
      'SandboxUnavailableError',
      'cannot open a connection into the sandbox: it has neither python3 nor perl',
    )
  }
  const shut = () => {
    for (const socket of sockets.values()) socket.destroy()
    sockets.clear()
  }
  void ended.then(shut)
  return {
    url: `http://127.0.0.1:${number}`,
    close: async () => {
      shut()
      await relay.kill()
    },
  }
}

/** Sends lines in order, one request at a time; lines that queue up in the meantime are sent together. */
function makeSender(write: (text: string) => Promise<void>): (line: string) => Promise<void> {
  let waiting = ''
  let going: Promise<void> | null = null
  const flush = async () => {
    while (waiting !== '') {
      const text = waiting
      waiting = ''
      await write(text)
    }
    going = null
  }
  return (line) => {
    waiting += `${line}\n`
    going ??= flush().catch(() => {
      going = null
      waiting = ''
    })
    return going
  }
}

const chunkBytes = 32 << 10
const mostUnreadBytes = 8 << 20

/** One connection made by a program inside. */
class DoorSocket extends Duplex {
  constructor(
    private readonly connection: string,
    private readonly send: (line: string) => Promise<void>,
    private readonly gone: () => void,
  ) {
    super({ allowHalfOpen: true })
  }

  override _read(): void {}

  /** A program inside cannot be slowed down: one that keeps sending while its data is not read is disconnected. */
  hear(bytes: Buffer): void {
    if (this.readableLength > mostUnreadBytes) this.destroy()
    else this.push(bytes)
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error) => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    const sent: Promise<void>[] = []
    for (let at = 0; at < bytes.length; at += chunkBytes)
      sent.push(this.send(`data ${this.connection} ${bytes.subarray(at, at + chunkBytes).toString('base64')}`))
    Promise.all(sent).then(() => done(), done)
  }

  override _final(done: (error?: Error) => void): void {
    this.send(`end ${this.connection}`).then(() => done(), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.gone()
    void this.send(`close ${this.connection}`)
    done(error)
  }
}
