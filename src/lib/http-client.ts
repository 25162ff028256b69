import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici'

export interface HttpCall {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The whole exchange ends within this. */
  readonly timeoutMs: number
  /** A longer answer is refused. */
  readonly limitBytes: number
  readonly signal?: AbortSignal
  /**
   * Receives the body of an answer below 300 piece by piece; returns true when it has enough. An exception ends the
   * call.
   */
  readonly onChunk?: (chunk: Buffer) => boolean
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty when `onChunk` took it. */
  readonly body: Buffer
}

/**
 * Thrown when no complete answer arrived: no server answered, the connection broke, time ran out, or the answer did not
 * end.
 */
export class HttpFailure extends Error {
  constructor(
    readonly trouble: 'connection' | 'timeout' | 'too-large',
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
  }
}

/** A pool of connections that stay open between calls; there are as many as concurrent calls. */
export interface HttpClient {
  /** An aborted signal rejects at once with its reason. Any status is an answer. */
  send(call: HttpCall): Promise<HttpAnswer>
}

type Env = Readonly<Record<string, string | undefined>>

/** Makes a pool; it honours the proxy variables of `env`, but never for this machine itself. */
export function makeHttpClient(env: Env = {}): HttpClient {
  // Models think for longer than undici waits by default; every call has its own deadline instead.
  const patience = { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 30_000 } }
  const pool = makePool(env, patience)
  return { send: (call) => new Promise((resolve, reject) => new Exchange(call, resolve, reject).start(pool)) }
}

/** A pool that honours the proxy variables of `env`, but never for this machine itself. */
export function makePool(env: Env, options: Agent.Options): Dispatcher {
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY ?? ''
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY ?? ''
  if (httpProxy + httpsProxy === '') return new Agent(options)
  const noProxy = `${env.no_proxy ?? env.NO_PROXY ?? ''},localhost,127.0.0.1,[::1]`
  return new EnvHttpProxyAgent({ ...options, httpProxy, httpsProxy, noProxy })
}

/**
 * One request and its answer. It uses undici's own events: a stream object per answer would double the cost of a call.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly chunks: Buffer[] = []
  private bytes = 0
  private status = 0
  private headers: HttpAnswer['headers'] = {}
  /** Set while the exchange is in progress. */
  private controller: Dispatcher.DispatchController | undefined
  private timer: NodeJS.Timeout | undefined
  private settled = false
  private readonly stop = () => this.fail(this.call.signal?.reason)

  constructor(
    private readonly call: HttpCall,
    private readonly resolve: (answer: HttpAnswer) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  start(pool: Dispatcher): void {
    const { signal, timeoutMs, url, method, headers, body } = this.call
    if (signal?.aborted) {
      this.fail(signal.reason)
      return
    }
    signal?.addEventListener('abort', this.stop, { once: true })
    const sec = timeoutMs / 1000
    const late = () =>
      this.fail(new HttpFailure('timeout', `no whole answer within ${sec.toFixed(sec < 10 ? 1 : 0)} s`))
    this.timer = setTimeout(late, Math.min(timeoutMs, 2 ** 31 - 1))
    try {
      const { origin, pathname, search } = new URL(url)
      pool.dispatch({ origin, path: pathname + search, method, headers, body: body ?? null }, this)
    } catch (error) {
      this.fail(error)
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.settled) controller.abort(hungUp)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: HttpAnswer['headers']): void {
    this.status = status
    this.headers = headers
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return
    this.bytes += chunk.length
    if (this.bytes > this.call.limitBytes) {
      this.fail(new HttpFailure('too-large', `the answer is longer than ${this.call.limitBytes} bytes`))
    } else if (this.call.onChunk && this.status < 300) this.handOn(chunk, this.call.onChunk)
    else this.chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.controller = undefined
    this.succeed()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.controller = undefined
    this.fail(
      new HttpFailure('connection', this.status === 0 ? said(error) : `the answer was cut off: ${said(error)}`, error),
    )
  }

  private handOn(chunk: Buffer, onChunk: (chunk: Buffer) => boolean): void {
    try {
      if (onChunk(chunk)) this.succeed()
    } catch (error) {
      this.fail(error)
    }
  }

  private succeed(): void {
    if (!this.settle()) return
    const [first] = this.chunks
    const body = this.chunks.length === 1 && first ? first : Buffer.concat(this.chunks)
    this.resolve({ status: this.status, headers: this.headers, body })
  }

  private fail(error: unknown): void {
    if (this.settle()) this.reject(error)
  }

  private settle(): boolean {
    if (this.settled) return false
    this.settled = true
    clearTimeout(this.timer)
    this.call.signal?.removeEventListener('abort', this.stop)
    this.controller?.abort(hungUp)
    return true
  }
}

const hungUp = new Error('the caller no longer waits for this answer')

/** A refused connection to a name with several addresses has the reasons nested inside, and an empty message. */
function said(error: Error): string {
  const [first] = error instanceof AggregateError ? error.errors : []
  return error.message || (first instanceof Error ? first.message : error.name)
}
