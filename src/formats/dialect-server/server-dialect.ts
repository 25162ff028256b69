import type { TokenUsage } from '../../core/budget.ts'
import type { ModelRequest } from '../../core/model.ts'
import type { WireReply } from '../model-dialect.ts'

/** A model call as it came over the wire. */
export interface ServedCall {
  /** The caller's name for it. */
  readonly model: string
  readonly stream: boolean
  readonly request: ModelRequest
  /** Names of requested settings that have no effect here. */
  readonly ignored: readonly string[]
  /** What the reply's format depends on besides the request. */
  readonly shape: ReplyShape
}

export interface ReplyShape {
  /** Whether a stream of chat completions ends with its counts. */
  readonly streamUsage: boolean
  /** Tools whose argument the caller sees as plain text and the model as the field `input`. */
  readonly textTools: readonly string[]
  /** Tools with a namespace, by the single name that the model knows. */
  readonly namespaced?: Readonly<Record<string, NamespacedName>>
}

export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** An error in a request, or in the service that should answer it. */
export interface ServiceFault {
  readonly kind: FaultKind
  readonly message: string
  /** The part of the request at fault, if any. */
  readonly param?: string
  readonly retryAfterSec?: number
  /** Overrides the status of the fault's kind. */
  readonly status?: number
}

const faultStatus = {
  'invalid-request': 400,
  'context-exceeded': 400,
  auth: 401,
  forbidden: 403,
  'not-found': 404,
  'too-large': 413,
  'rate-limit': 429,
  server: 500,
  overloaded: 503,
  timeout: 504,
} as const
export type FaultKind = keyof typeof faultStatus

export type ParsedCall =
  | { readonly kind: 'call'; readonly call: ServedCall }
  | { readonly kind: 'refused'; readonly fault: ServiceFault }

/** A reply as a server has it, with complete usage. */
export type ServedReply = Omit<WireReply, 'usage'> & { readonly usage: TokenUsage }

/** A reply's metadata. */
export interface Stamp {
  /** Letters and digits; each dialect adds its own prefix. */
  readonly id: string
  readonly createdSec: number
  readonly model: string
}

/** One event of a stream; most dialects leave events unnamed. */
export interface WireEvent {
  readonly name?: string
  /** JSON text, or the word that ends a stream. */
  readonly data: string
}

/** Writes a reply as events: start, reasoning if any, text if any, end. */
export interface StreamWriter {
  /** `known`: the reply, if it is complete before streaming starts; null while the model is still generating. */
  start(known: ServedReply | null): readonly WireEvent[]
  reasoning(piece: string): readonly WireEvent[]
  text(piece: string): readonly WireEvent[]
  /** Everything that is not streamed: tool calls, stop reason, counts. */
  end(reply: ServedReply): readonly WireEvent[]
}

/** The part of an address that says what is requested. */
export interface CallAddress {
  /** The model, if the address names it. */
  readonly model: string | null
  readonly stream: boolean
  readonly query: Readonly<Record<string, string>>
}

/**
 * How to serve the callers of one API, as pure functions between its format and ours. The counterpart of a `Dialect`.
 */
export interface ServerDialect {
  readonly name: string
  /** A request that cannot be answered faithfully is refused, never answered in part. */
  parse(document: unknown, address: CallAddress): ParsedCall
  render(call: ServedCall, reply: ServedReply, stamp: Stamp): Readonly<Record<string, unknown>>
  makeStream(call: ServedCall, stamp: Stamp): StreamWriter
  /**
   * Whether thoughts may be streamed as they are generated; not if they carry a signature, which covers a whole
   * thought.
   */
  readonly streamsThoughts: boolean
  renderFault(fault: ServiceFault): Readonly<Record<string, unknown>>
  /** A fault that occurs after a stream has started. */
  faultEvent(fault: ServiceFault): WireEvent
  /** A keep-alive in a stream. */
  readonly heartbeat: string
}

/** The HTTP status for a fault. */
export function statusOf({ kind, status }: ServiceFault): number {
  return status ?? faultStatus[kind]
}

/** Renders an event in wire format. */
export function renderEvent({ name, data }: WireEvent): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`
}

/** A comment line that every reader of events ignores. */
export const comment = ': still there\n\n'

/** An unnamed event with a JSON document. */
export function dataEvent(document: unknown): WireEvent {
  return { data: JSON.stringify(document) }
}
