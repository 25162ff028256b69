import type { TokenUsage } from '../../core/budget.ts'
import type { ModelRequest } from '../../core/model.ts'
import type { WireReply } from '../model-dialect.ts'

/** One call of a model, as it came over the wire. */
export interface ServedCall {
  /** As the caller names it. */
  readonly model: string
  readonly stream: boolean
  readonly request: ModelRequest
  /** Names of what was asked for and makes no difference here. */
  readonly ignored: readonly string[]
  /** What the reply's shape depends on beside the request. */
  readonly shape: ReplyShape
}

export interface ReplyShape {
  /** Whether a stream of chat completions ends with its counts. */
  readonly streamUsage: boolean
  /** Tools whose argument is plain text in the caller's eyes; to the model it is the field `input`. */
  readonly textTools: readonly string[]
  /** Tools that the caller knows by two names, by the one name that the model knows. */
  readonly namespaced?: Readonly<Record<string, NamespacedName>>
}

export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** What is wrong with a request, or with the service that should answer it. */
export interface ServiceFault {
  readonly kind: FaultKind
  readonly message: string
  /** Which part of the request, if one. */
  readonly param?: string
  readonly retryAfterSec?: number
  /** When another status than the kind's own is wanted. */
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

/** A reply as a server has it, everything counted. */
export type ServedReply = Omit<WireReply, 'usage'> & { readonly usage: TokenUsage }

/** What a reply carries that is no part of what was said. */
export interface Stamp {
  /** Letters and digits; each dialect puts its own prefix before it. */
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

/** Writes a reply event by event: start, reasoning if any, text if any, end. */
export interface StreamWriter {
  /** `known`: the reply, where it is whole before it is told; null while the model still speaks. */
  start(known: ServedReply | null): readonly WireEvent[]
  reasoning(piece: string): readonly WireEvent[]
  text(piece: string): readonly WireEvent[]
  /** Everything that did not come in pieces: tool calls, why it stopped, counts. */
  end(reply: ServedReply): readonly WireEvent[]
}

/** The part of an address that says what is asked for. */
export interface CallAddress {
  /** The model, where the address names it. */
  readonly model: string | null
  readonly stream: boolean
  readonly query: Readonly<Record<string, string>>
}

/** How to answer the callers of one API: pure functions between their words and ours. The other side of a `Dialect`. */
export interface ServerDialect {
  readonly name: string
  /** A request that cannot be answered faithfully is refused, never answered in part. */
  parse(document: unknown, address: CallAddress): ParsedCall
  render(call: ServedCall, reply: ServedReply, stamp: Stamp): Readonly<Record<string, unknown>>
  makeStream(call: ServedCall, stamp: Stamp): StreamWriter
  /** Whether thoughts may be told as they come; not where they carry a signature, which is about all of them. */
  readonly streamsThoughts: boolean
  renderFault(fault: ServiceFault): Readonly<Record<string, unknown>>
  /** A fault that comes when a stream has begun already. */
  faultEvent(fault: ServiceFault): WireEvent
  /** A keep-alive in a stream. */
  readonly heartbeat: string
}

/** The status a fault is answered with. */
export function statusOf({ kind, status }: ServiceFault): number {
  return status ?? faultStatus[kind]
}

/** An event as it goes over the wire. */
export function renderEvent({ name, data }: WireEvent): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`
}

/** A line that every reader of events passes over. */
export const comment = ': still there\n\n'

/** An unnamed event with a document in it. */
export function dataEvent(document: unknown): WireEvent {
  return { data: JSON.stringify(document) }
}
