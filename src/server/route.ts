import type { IncomingMessage } from 'node:http'
import type { ModelService } from '../formats/dialect-server/model-service.ts'
import { plain, type WireAnswer } from '../formats/dialect-server/wire-answer.ts'

/** A request that a route answers. */
export interface Asked {
  readonly service: ModelService
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly message: IncomingMessage
  /** When the server started. */
  readonly startedSec: number
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
}

/** What a route wants to be sent: a page, or whatever is decided while a stream is kept open with heartbeats. */
export type Answered = WireAnswer | 'hang-up' | 'silence' | OpenStream

/** A stream whose answer is not there yet: heartbeats keep the caller waiting, a fault becomes an event. */
export interface OpenStream {
  readonly answer: Promise<WireAnswer | 'hang-up' | 'silence'>
  readonly heartbeat: string
  /** How a page with a status that came too late is told inside the stream. */
  readonly asEvents: (late: WireAnswer) => string
}

export type Route = (asked: Asked) => Promise<Answered>

export const notFound: WireAnswer = plain(404, 'application/json', '{"detail":"Not Found"}')
