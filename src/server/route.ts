import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ModelService } from '../formats/dialect-server/model-service.ts'
import { plain, type WireAnswer } from '../formats/dialect-server/wire-answer.ts'

/** A request that a route answers. */
export interface Asked {
  readonly service: ModelService
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly message: IncomingMessage
  readonly response: ServerResponse
  /** When the server started. */
  readonly startedSec: number
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal
}

/** Handles one request and sends its own answer. If it throws, the caller gets an error page. */
export type Route = (asked: Asked) => Promise<void>

export const notFound: WireAnswer = plain(404, 'application/json', '{"detail":"Not Found"}')
