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
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
}

/** Answers a request by itself. What it throws becomes a page that says so. */
export type Route = (asked: Asked) => Promise<void>

export const notFound: WireAnswer = plain(404, 'application/json', '{"detail":"Not Found"}')
