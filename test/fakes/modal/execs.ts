import { type ServerReadableStream, type ServerWritableStream, status, type UntypedHandleCall } from '@grpc/grpc-js'
import { readFile, writeFile } from '../../../src/sandboxes/namespaces/transfer.ts'
import { Faults } from '../faults.ts'
import { refusal, type StandInSandbox, unary } from './server.ts'

const tools = '/__modal/.bin/modal-sandbox-fs-tools'

/** Output that can be read again from any offset while it grows. */
class Output {
  private bytes = Buffer.alloc(0)
  private ended = false
  private readonly waiting = new Set<() => void>()

  add(data: Uint8Array): void {
    this.bytes = Buffer.concat([this.bytes, data])
    this.wake()
  }

  end(): void {
    this.ended = true
    this.wake()
  }

  async *from(offset: number): AsyncGenerator<Buffer> {
    for (let at = offset; ; ) {
      if (at < this.bytes.length) {
        const part = this.bytes.subarray(at, at + (1 << 20))
        at += part.length
        yield part
      } else if (this.ended) return
      else await new Promise<void>((resolve) => this.waiting.add(resolve))
    }
  }

  private wake(): void {
    for (const go of this.waiting) go()
    this.waiting.clear()
  }
}

class Exec {
  readonly out = new Output()
  readonly err = new Output()
  readonly input: Buffer[] = []
  received = 0
  closed = false
  write: (data: Buffer) => void = (data) => this.input.push(data)
  end: () => void = () => {}
  ended: Promise<number> = Promise.resolve(0)
  code: number | null = null

  finishWith(ended: Promise<number>): void {
    this.ended = ended.then((code) => {
      this.code = code
      this.out.end()
      this.err.end()
      return code
    })
  }
}

// biome-ignore lint/suspicious/noExplicitAny: messages are read from the .proto files when the program runs
type Message = any

/** The programs of all sandboxes. */
export class Execs {
  private readonly execs = new Map<string, Exec>()

  constructor(private readonly find: (taskId: string) => StandInSandbox | undefined) {}

  handlers(): Record<string, UntypedHandleCall> {
    const none = new Faults()
    const at = (execId: string) => {
      const exec = this.execs.get(execId)
      if (!exec) throw refusal(status.NOT_FOUND, `no exec ${execId}`)
      return exec
    }
    return {
      TaskExecStart: unary(none, 'TaskExecStart', (request) => this.start(request)),
      TaskExecWait: unary(none, 'TaskExecWait', async ({ execId }) => ({ code: await at(execId).ended })),
      TaskExecPoll: unary(none, 'TaskExecPoll', async ({ execId }) => {
        const { code } = at(execId)
        return code === null ? {} : { code }
      }),
      TaskExecStdinStatus: unary(none, 'TaskExecStdinStatus', async ({ execId }) => {
        const { received, closed } = at(execId)
        return { numBytesWritten: received, closed }
      }),
      TaskExecStdinWrite: unary(none, 'TaskExecStdinWrite', async ({ execId, offset, data, eof }) => {
        take(at(execId), offset, data, eof)
        return {}
      }),
      TaskExecStdinWriteStream: ((
        call: ServerReadableStream<Message, Message>,
        answer: (e: null, v: object) => void,
      ) => {
        let exec: Exec | undefined
        let offset = 0
        call.on('data', (part: Message) => {
          if (part.start) {
            exec = this.execs.get(part.start.execId)
            offset = part.start.offset
          } else if (exec && part.data?.length > 0) {
            take(exec, offset, part.data, false)
            offset += part.data.length
          }
          if (exec && part.end) take(exec, offset, Buffer.alloc(0), true)
        })
        call.on('error', () => {})
        call.on('end', () => answer(null, { numBytesWritten: exec?.received ?? 0, closed: exec?.closed ?? true }))
      }) as UntypedHandleCall,
      TaskExecStdioRead: ((call: ServerWritableStream<Message, Message>) => {
        const { execId, offset, fileDescriptor } = call.request
        const exec = this.execs.get(execId)
        if (!exec) return void call.destroy(refusal(status.NOT_FOUND, `no exec ${execId}`))
        const send = async () => {
          for await (const data of (fileDescriptor === 1 ? exec.err : exec.out).from(offset)) call.write({ data })
          call.end()
        }
        void send()
      }) as UntypedHandleCall,
    }
  }

  private async start(request: Message): Promise<object> {
    const sandbox = this.find(request.taskId)
    if (!sandbox) throw refusal(status.NOT_FOUND, 'no such task')
    const exec = new Exec()
    this.execs.set(request.execId, exec)
    const env = Object.assign({}, ...request.secretSources.map((source: Message) => source.env?.contents ?? {}))
    const argv: string[] = request.commandArgs
    const options = { env, ...(request.workdir && { cwd: request.workdir }) }
    if (argv[0] === tools) exec.finishWith(fileTool(sandbox, JSON.parse(argv[1] ?? '{}'), exec))
    else if (request.ptyInfo?.enabled) await startTerminal(sandbox, argv, options, exec)
    else await startProgram(sandbox, argv, options, exec)
    return {}
  }
}

function take(exec: Exec, offset: number, data: Buffer, eof: boolean): void {
  const fresh = Buffer.from(data).subarray(Math.max(0, exec.received - offset))
  exec.received += fresh.length
  if (fresh.length > 0) exec.write(fresh)
  if (eof && !exec.closed) {
    exec.closed = true
    exec.end()
  }
}

async function startProgram(sandbox: StandInSandbox, argv: string[], options: object, exec: Exec): Promise<void> {
  const { child, done } = await sandbox.owned.machine.spawn(argv, options)
  child.stdin?.on('error', () => {})
  exec.write = (data) => void child.stdin?.write(data)
  exec.end = () => void child.stdin?.end()
  child.stdout?.on('data', (data: Buffer) => exec.out.add(data))
  child.stderr?.on('data', (data: Buffer) => exec.err.add(data))
  exec.finishWith(
    new Promise((resolve) =>
      child.once('close', (code, signal) => void done().then(() => resolve(signal ? 137 : (code ?? 1)))),
    ),
  )
}

async function startTerminal(sandbox: StandInSandbox, argv: string[], options: object, exec: Exec): Promise<void> {
  const terminal = await sandbox.owned.machine.openTerminal({ argv, cols: 80, rows: 24, ...options })
  exec.write = (data) => terminal.write(data)
  exec.end = () => void terminal.close()
  terminal.onData((text) => exec.out.add(Buffer.from(text)))
  exec.finishWith(terminal.exited)
}

/** The program that Modal itself puts into a sandbox for file access. */
async function fileTool(sandbox: StandInSandbox, asked: Message, exec: Exec): Promise<number> {
  const { machine } = sandbox.owned
  const [[kind, { path }]] = Object.entries(asked) as [[string, { path: string }]]
  const missing = () => {
    exec.err.add(Buffer.from(JSON.stringify({ error_kind: 'NotFound', message: `${path} not found`, detail: '' })))
    return 1
  }
  if (kind === 'WriteFile') {
    await new Promise<void>((resolve) => {
      exec.end = resolve
      if (exec.closed) resolve()
    })
    await writeFile(machine, path, Buffer.concat(exec.input), 0o644)
    return 0
  }
  const bytes = await readFile(machine, path).catch(() => null)
  if (bytes === null) return missing()
  if (kind === 'ReadFile') exec.out.add(bytes)
  else if (kind === 'Stat')
    exec.out.add(
      Buffer.from(
        JSON.stringify({
          name: path,
          path,
          type: 'File',
          size: bytes.length,
          mode: 0o644,
          permissions: 'rw-r--r--',
          owner: 'root',
          group: 'root',
          modified_time: 0,
          symlink_target: null,
        }),
      ),
    )
  return 0
}
