import type { IncomingMessage, ServerResponse } from 'node:http'
import { readFile, writeFile } from '../../../src/sandboxes/namespaces/transfer.ts'
import type { StandInSandbox } from './control.ts'
import { bodyOf, json } from './server.ts'

/** A program inside that requests can interact with. */
export interface RunningProcess {
  write(data: Buffer): void
  end(): void
  kill(): void
  resize(cols: number, rows: number): void
}

interface StartBody {
  readonly process: {
    readonly cmd: string
    readonly args: string[]
    readonly envs?: Record<string, string>
    readonly cwd?: string
  }
  readonly pty?: { readonly size: { readonly cols: number; readonly rows: number } }
  readonly stdin?: boolean
}

/** The service inside a sandbox: processes and files. */
export async function handleEnvd(
  sandbox: StandInSandbox,
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
): Promise<void> {
  const { machine } = sandbox.owned
  if (url.pathname === '/health') return json(response, 204, undefined)
  if (url.pathname === '/files') return files(sandbox, request, url, response)
  const body = await bodyOf(request)
  if (url.pathname === '/process.Process/Start')
    return start(sandbox, JSON.parse(body.subarray(5).toString()), response)
  const { process, input, pty } = JSON.parse(body.toString())
  const running = sandbox.processes.get(process?.pid)
  if (!machine.alive || !running) return json(response, 404, { code: 'not_found', message: 'no such process' })
  switch (url.pathname) {
    case '/process.Process/SendInput':
      running.write(Buffer.from(input.stdin ?? input.pty, 'base64'))
      break
    case '/process.Process/CloseStdin':
      running.end()
      break
    case '/process.Process/SendSignal':
      running.kill()
      break
    case '/process.Process/Update':
      running.resize(pty.size.cols, pty.size.rows)
      break
    default:
      return json(response, 501, { code: 'unimplemented', message: url.pathname })
  }
  json(response, 200, {})
}

let pids = 100

async function start(sandbox: StandInSandbox, body: StartBody, response: ServerResponse): Promise<void> {
  const { machine } = sandbox.owned
  const pid = pids++
  response.writeHead(200, { 'content-type': 'application/connect+json' })
  const send = (event: object) => response.write(frame(0, { event }))
  const finish = (exitCode: number) => {
    sandbox.processes.delete(pid)
    const failure = exitCode === 0 ? {} : { error: `exit status ${exitCode}` }
    send({ end: { exitCode, exited: true, status: `exit status ${exitCode}`, ...failure } })
    response.end(frame(2, {}))
  }
  const argv = [body.process.cmd, ...body.process.args]
  const options = { env: { ...sandbox.env, ...body.process.envs }, ...(body.process.cwd && { cwd: body.process.cwd }) }
  if (body.pty) {
    const terminal = await machine.openTerminal({ argv, ...body.pty.size, ...options })
    sandbox.processes.set(pid, {
      write: (data) => terminal.write(data),
      end: () => {},
      kill: () => void terminal.close(),
      resize: (cols, rows) => terminal.resize(cols, rows),
    })
    send({ start: { pid } })
    terminal.onData((text) => send({ data: { pty: Buffer.from(text).toString('base64') } }))
    return void terminal.exited.then(finish)
  }
  const { child, done } = await machine.spawn(argv, options, body.stdin ? 'pipe' : 'ignore')
  child.stdin?.on('error', () => {})
  sandbox.processes.set(pid, {
    write: (data) => void child.stdin?.write(data),
    end: () => void child.stdin?.end(),
    kill: () => void child.kill('SIGKILL'),
    resize: () => {},
  })
  send({ start: { pid } })
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (data: Buffer) => send({ data: { [name]: data.toString('base64') } }))
  // Like the real one: a program has ended when nothing holds its output open any more.
  child.once('close', (code, signal) => void done().then(() => finish(signal ? 137 : (code ?? 1))))
}

function frame(flag: number, message: object): Buffer {
  const text = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt8(flag, 0)
  head.writeUInt32BE(text.length, 1)
  return Buffer.concat([head, text])
}

async function files(
  sandbox: StandInSandbox,
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
): Promise<void> {
  const { machine } = sandbox.owned
  const path = url.searchParams.get('path') ?? ''
  if (request.method === 'GET') {
    const bytes = await readFile(machine, path).catch(() => null)
    if (bytes === null) return json(response, 404, { code: 404, message: `path '${path}' does not exist` })
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length })
    return void response.end(bytes)
  }
  const type = request.headers['content-type'] ?? ''
  const body = await bodyOf(request)
  const written: { name: string; path: string; type: string }[] = []
  for (const [name, data] of type.startsWith('multipart/') ? await partsOf(type, body) : [[path, body] as const]) {
    await writeFile(machine, name || path, data, 0o644)
    written.push({ name: (name || path).split('/').at(-1) ?? '', path: name || path, type: 'file' })
  }
  json(response, 200, written)
}

async function partsOf(type: string, body: Buffer): Promise<(readonly [string, Buffer])[]> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const parts = form.getAll('file').filter((part): part is File => typeof part !== 'string')
  return Promise.all(
    parts.map(
      async (part) => [part.name.startsWith('/') ? part.name : '', Buffer.from(await part.arrayBuffer())] as const,
    ),
  )
}
