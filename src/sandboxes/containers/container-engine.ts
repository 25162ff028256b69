import { request as httpRequest } from 'node:http'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { Agent } from 'undici'
import { z } from 'zod'
import { BoundaryError, isAbort, messageOf } from '../../core/errors.ts'
import { parseJson } from '../../lib/parse-json.ts'

type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path after the version, for example `/containers/json`. */
  readonly path: string
  readonly query?: Query
  readonly json?: unknown
  /** A tar, sent as it is made. */
  readonly tar?: AsyncIterable<Uint8Array>
  /** Statuses of 400 and above that are answers here, not failures. */
  readonly accept?: readonly number[]
  readonly signal?: AbortSignal
}

export interface EngineAnswer {
  readonly status: number
  readonly body: unknown
}

/** The newest API version whose behaviour we know; an older engine is used with its own version. */
const newestVersion = '1.44'
/** The version of Podman's own interface, which is numbered differently. */
const podmanVersion = '4.0.0'
const complaintSchema = z.object({ message: z.string() })
const statSchema = z.object({ mode: z.number(), isDir: z.boolean().optional(), linkTarget: z.string().nullish() })

/** A container's files as sent by an engine. */
export interface Archive {
  readonly body: Readable
  readonly isDir: boolean
  readonly link: string
}

/** The path of a call; an inserted name stays a single name, whatever it contains. */
export function url(strings: TemplateStringsArray, ...names: readonly string[]): string {
  const encoded = names.map((name) => name.split('/').map(encodeURIComponent).join('/'))
  return String.raw({ raw: strings }, ...encoded)
}

/** A container engine behind a unix socket: Docker's interface, which Podman serves too. */
export class ContainerEngine {
  private readonly pool: Agent
  private version: Promise<string> | undefined

  constructor(
    readonly name: string,
    readonly socketPath: string,
  ) {
    // Builds are silent for minutes; the caller passes a signal.
    this.pool = new Agent({ connect: { socketPath }, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 10_000 })
  }

  /** Sends a call and waits for the whole answer. */
  async ask(call: EngineCall): Promise<EngineAnswer> {
    const { status, body } = await this.dispatch(call)
    const text = await body.text()
    const parsed = parseJson(text)
    if (status >= 400 && !call.accept?.includes(status)) throw this.refusal(call, status, parsed, text)
    return { status, body: parsed }
  }

  /** Sends a call whose answer comes piece by piece, for example a build log. */
  async stream(call: EngineCall): Promise<Readable> {
    return (await this.open(call)).body
  }

  /**
   * A path of a container as a tar archive, read by the engine within the container's own root: no program inside takes
   * part. `isDir` and `link`, the final target of the path, are what the engine reports.
   */
  async archive(container: string, path: string): Promise<Archive> {
    const call = { method: 'GET', path: url`/containers/${container}/archive`, query: { path } } as const
    const { body, headers } = await this.open(call)
    const said = String(headers['x-docker-container-path-stat'] ?? '')
    const stat = statSchema.safeParse(parseJson(Buffer.from(said, 'base64').toString('utf8'))).data
    return { body, isDir: stat?.isDir ?? (stat?.mode ?? 0) >= 2 ** 31, link: stat?.linkTarget ?? '' }
  }

  private async open(call: EngineCall) {
    const { status, body, headers } = await this.dispatch(call)
    if (status < 400) return { body, headers }
    const text = await body.text()
    throw this.refusal(call, status, parseJson(text), text)
  }

  /** Takes over the connection of a call: from then on it carries a command's own bytes in both directions. */
  async hijack(path: string, json?: unknown): Promise<Duplex> {
    const version = await this.findVersion()
    // An unrequested body would become the first bytes that the command reads.
    const body = json === undefined ? '' : JSON.stringify(json)
    return new Promise((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'tcp',
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
      }
      const call = httpRequest({ socketPath: this.socketPath, method: 'POST', path: `/v${version}${path}`, headers })
      call.on('upgrade', (_, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        resolve(socket)
      })
      call.on('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          if (text.length < 4096) text += chunk
        })
        response.on('end', () =>
          reject(this.refusal({ method: 'POST', path }, response.statusCode ?? 0, parseJson(text), text)),
        )
      })
      call.on('error', (error) => reject(this.unreachable(error)))
      call.end(body)
    })
  }

  /** Throws, as any call would, if the engine does not answer. */
  async ping(): Promise<void> {
    this.version = undefined
    await this.findVersion()
  }

  private async dispatch(call: EngineCall) {
    const version = await this.findVersion()
    call.signal?.throwIfAborted()
    const body = call.tar
      ? Readable.from(call.tar, { objectMode: false })
      : call.json === undefined
        ? null
        : JSON.stringify(call.json)
    const type = call.tar ? 'application/x-tar' : 'application/json'
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await this.pool.request({
        origin: 'http://engine',
        path: `/v${call.path.startsWith('/libpod/') ? podmanVersion : version}${call.path}${renderQuery(call.query)}`,
        method: call.method,
        headers: body === null ? {} : { 'content-type': type },
        body,
        signal: call.signal ?? null,
      })
      return { status: statusCode, headers, body: answer }
    } catch (error) {
      if (isAbort(error) || call.signal?.aborted) throw call.signal?.reason ?? error
      throw this.unreachable(error)
    }
  }

  private findVersion(): Promise<string> {
    this.version ??= this.askVersion().catch((error: unknown) => {
      this.version = undefined
      throw error
    })
    return this.version
  }

  private async askVersion(): Promise<string> {
    try {
      const answer = await this.pool.request({ origin: 'http://engine', path: '/_ping', method: 'GET' })
      await answer.body.dump()
      const spoken = String(answer.headers['api-version'] ?? newestVersion)
      return isOlder(spoken, newestVersion) ? spoken : newestVersion
    } catch (error) {
      throw this.unreachable(error)
    }
  }

  private refusal(
    call: Pick<EngineCall, 'method' | 'path'>,
    status: number,
    body: unknown,
    text: string,
  ): BoundaryError {
    const complaint = complaintSchema.safeParse(body)
    const said = (complaint.success ? complaint.data.message : text).trim().slice(0, 500)
    const gone =
      /^\/(containers|exec)\//.test(call.path) &&
      /no such (container|exec)|is not running|not running|container state improper/i.test(said)
    const what = `${this.name} refused ${call.method} ${call.path.slice(0, 120)} (${status}): ${said}`
    return new BoundaryError('sandbox', what, { ...(gone && { code: 'SandboxGoneError' }), cause: { status } })
  }

  private unreachable(error: unknown): BoundaryError {
    return new BoundaryError('sandbox', `cannot reach ${this.name} at ${this.socketPath}: ${messageOf(error)}`, {
      code: 'EngineUnreachableError',
      cause: error,
    })
  }
}

function renderQuery(query: Query = {}): string {
  const words = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) words.set(name, String(value))
  return words.size > 0 ? `?${words}` : ''
}

function isOlder(a: string, b: string): boolean {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number)
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number)
  return aMajor < bMajor || (aMajor === bMajor && aMinor < bMinor)
}
