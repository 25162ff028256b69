import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was sent.
  readonly body: any
}

/** Answers one request, well or badly. */
export type Behaviour = (response: ServerResponse, request: SeenRequest) => void

export interface ModelServer {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The requests for replies, in order; requests for lists are separate. */
  readonly requests: SeenRequest[]
  readonly listRequests: SeenRequest[]
  /** The behaviors for the next requests, in order; the last one stays. */
  plan(...behaviours: Behaviour[]): void
  /** The behaviors for requests for lists and descriptions of models. */
  planList(...behaviours: Behaviour[]): void
  close(): Promise<void>
}

/** A real HTTP server on this machine that answers as planned, faults included. */
export async function startModelServer(): Promise<ModelServer> {
  const requests: SeenRequest[] = []
  const listRequests: SeenRequest[] = []
  let planned: Behaviour[] = [says('ok')]
  let plannedList: Behaviour[] = [json({ object: 'list', data: [{ id: 'm', max_model_len: 4096 }] })]
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { method = '', url: path = '', headers } = incoming
      const seen = { method, path, headers, body: text === '' ? null : JSON.parse(text) }
      const isList = method === 'GET'
      ;(isList ? listRequests : requests).push(seen)
      const queue = isList ? plannedList : planned
      const behave = queue.length > 1 ? queue.shift() : queue[0]
      behave?.(response, seen)
    })
    incoming.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    listRequests,
    plan(...behaviours) {
      planned = behaviours
    },
    planList(...behaviours) {
      plannedList = behaviours
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const usage = { prompt_tokens: 11, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } }

/** A good reply in OpenAI's dialect, streamed if requested. */
export function says(text: string, message: object = {}, choice: object = {}, document: object = {}): Behaviour {
  return (response, request) => {
    if (request.body?.stream) return void events(...chunksOf(text), '[DONE]')(response, request)
    const choices = [
      { index: 0, message: { role: 'assistant', content: text, ...message }, finish_reason: 'stop', ...choice },
    ]
    json({ object: 'chat.completion', choices, usage, ...document })(response, request)
  }
}

/** The chunks of a stream in OpenAI's dialect, usage last. */
export function chunksOf(text: string): object[] {
  const pieces = text.match(text.length > 1000 ? /[\s\S]{1,4096}/g : /[\s\S]{1,3}/g) ?? []
  return [
    ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ]
}

export function json(document: unknown, status = 200, headers: Record<string, string> = {}): Behaviour {
  return (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document))
}

/** An error in OpenAI's format. */
export function fails(
  status: number,
  message: string,
  more: object = {},
  headers: Record<string, string> = {},
): Behaviour {
  return json({ error: { message, ...more } }, status, headers)
}

/** Bytes exactly as given. */
export function bytes(body: string | Uint8Array, status = 200): Behaviour {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

/** A stream of events: objects as JSON, text unchanged. */
export function events(...documents: readonly (object | string)[]): Behaviour {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const document of documents) response.write(frame(document))
    response.end()
  }
}

/** A stream whose connection breaks in the middle. */
export function cutsAfter(...documents: readonly (object | string)[]): Behaviour {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const document of documents) response.write(frame(document))
    setTimeout(() => response.destroy(), 20)
  }
}

/** A stream that never ends: the same piece over and over, as fast as it is read. */
export function neverEnds(piece: string): Behaviour {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const data = frame({ choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] })
    const more = () => {
      let room = true
      while (room && !response.destroyed) room = response.write(data)
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }
}

/** Accepts the request and never replies. */
export const silent: Behaviour = () => {}

/** Hangs up without a reply. */
export const hangsUp: Behaviour = (response) => response.destroy()

/** Delays a behavior. */
export function after(ms: number, behaviour: Behaviour): Behaviour {
  return (response, request) => void setTimeout(() => behaviour(response, request), ms)
}

function frame(document: object | string): string {
  return `data: ${typeof document === 'string' ? document : JSON.stringify(document)}\n\n`
}
