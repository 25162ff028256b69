import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import type { Terminal } from '../../../src/core/sandbox.ts'
import type { Machine } from '../../../src/sandboxes/local/machine.ts'
import { readFile } from '../../../src/sandboxes/namespaces/transfer.ts'
import { refuse, sendJson } from './answers.ts'

interface Pty {
  readonly terminal: Terminal
  socket: WebSocket | null
}

/** The provider's own program inside a sandbox, as far as the package uses it. Its commands run in a real machine. */
export class Toolbox {
  private readonly ptys = new Map<string, Pty>()

  constructor(private readonly machine: Machine) {}

  async handle(request: IncomingMessage, response: ServerResponse, path: string, body: Buffer): Promise<void> {
    const route = `${request.method} ${path}`
    const [, id = '', resized] = /^\w+ \/process\/pty\/([\w-]+)(\/resize)?$/.exec(route) ?? []
    if (route === 'POST /process/execute') return this.execute(response, JSON.parse(String(body)))
    if (route === 'POST /files/bulk-upload') return this.upload(request, response, body)
    if (route === 'POST /files/bulk-download') return this.download(response, JSON.parse(String(body)).paths)
    const pty = this.ptys.get(id)
    if (!pty) return refuse(response, 404, `there is no ${route}`)
    if (resized) {
      const { cols, rows } = JSON.parse(String(body))
      pty.terminal.resize(cols, rows)
    } else await pty.terminal.close()
    sendJson(response, { id })
  }

  /** Opens a new terminal, or reconnects to an existing one. */
  async connect(socket: WebSocket, url: URL): Promise<void> {
    const known = /\/process\/pty\/([\w-]+)\/connect$/.exec(url.pathname)?.[1]
    const id = known ?? url.searchParams.get('id') ?? ''
    const pty = known ? this.ptys.get(known) : await this.openPty(id, url)
    if (!pty) {
      socket.send(JSON.stringify({ type: 'control', status: 'error', error: 'PTY session not found' }))
      return socket.close(1011)
    }
    pty.socket = socket
    socket.send(JSON.stringify({ type: 'control', status: 'connected' }))
    socket.on('message', (data: Buffer) => pty.terminal.write(data))
    socket.on('error', () => {})
  }

  /** Simulates a network failure. */
  dropConnections(): void {
    for (const { socket } of this.ptys.values()) socket?.terminate()
  }

  private async openPty(id: string, url: URL): Promise<Pty> {
    const [cols, rows] = [Number(url.searchParams.get('cols')), Number(url.searchParams.get('rows'))]
    const cwd = url.searchParams.get('cwd') ?? '/'
    const terminal = await this.machine.openTerminal({ argv: ['bash'], cols, rows, cwd, env: { PS1: '$ ' } })
    const pty: Pty = { terminal, socket: null }
    this.ptys.set(id, pty)
    terminal.onData((chunk) => pty.socket?.send(Buffer.from(chunk)))
    void terminal.exited.then((exitCode) => {
      this.ptys.delete(id)
      pty.socket?.send(JSON.stringify({ type: 'control', status: 'exited', exitCode }))
      pty.socket?.close(1000)
    })
    return pty
  }

  private async execute(response: ServerResponse, request: Execute): Promise<void> {
    const { command, cwd, envs, timeout = 360 } = request
    const result = await this.machine.exec(['sh', '-c', `exec 2>&1; ${command}`], {
      ...(cwd && { cwd }),
      env: envs ?? {},
      timeoutSec: timeout,
      outputLimitBytes: 2 ** 27,
    })
    if (result.timedOut)
      return refuse(response, 408, 'command execution timeout', {
        code: 'PROCESS_EXECUTION_TIMEOUT',
        source: 'DAYTONA_DAEMON',
      })
    sendJson(response, { exitCode: result.exitCode, result: result.stdout })
  }

  private async upload(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const headers = { 'content-type': request.headers['content-type'] ?? '' }
    const form = await new Response(new Uint8Array(body), { headers }).formData()
    for (let i = 0; form.has(`files[${i}].path`); i++) {
      const [path, file] = [form.get(`files[${i}].path`), form.get(`files[${i}].file`)]
      const stdin =
        typeof file === 'string' ? Buffer.from(file) : Buffer.from((await file?.arrayBuffer()) ?? new ArrayBuffer(0))
      const script = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
      const { exitCode, stderr } = await this.machine.exec(['sh', '-c', script, 'sh', String(path)], { stdin })
      if (exitCode !== 0) return refuse(response, 400, stderr)
    }
    response.end()
  }

  private async download(response: ServerResponse, paths: readonly string[]): Promise<void> {
    const boundary = randomBytes(12).toString('hex')
    response.setHeader('content-type', `multipart/form-data; boundary=${boundary}`)
    for (const path of paths) {
      const found = await readFile(this.machine, path).catch(() => null)
      const error = { statusCode: 404, message: 'file not found', code: 'FILE_NOT_FOUND', source: 'DAYTONA_DAEMON' }
      const [name, type] = found ? ['file', 'application/octet-stream'] : ['error', 'application/json']
      response.write(
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${path}"\r\nContent-Type: ${type}\r\n\r\n`,
      )
      response.write(found ?? JSON.stringify(error))
      response.write('\r\n')
    }
    response.end(`--${boundary}--\r\n`)
  }
}

interface Execute {
  readonly command: string
  readonly cwd?: string
  readonly envs?: Record<string, string>
  readonly timeout?: number
}
