import type { ServedModel } from '../model-dialect.ts'
import type { ServedCall, ServedReply, ServiceFault } from './server-dialect.ts'

/** Answers model calls, whatever API they arrive in. Its answers may be as broken as a real server's. */
export interface ModelService {
  /** Finds what it needs; throws a UserError if something is wrong. May be called repeatedly. */
  prepare(): Promise<void>
  answer(call: ServedCall, signal: AbortSignal): Promise<ServiceAnswer>
  models(): Promise<readonly ServedModel[]>
  /** How busy it is right now. */
  load(): ServiceLoad
}

export interface ServiceLoad {
  readonly running: number
  readonly waiting: number
  /** How full the KV cache is, from 0 to 1. */
  readonly cacheUse: number
}

export type ServiceAnswer =
  | {
      readonly kind: 'reply'
      readonly reply: ServedReply
      readonly pace?: Pace
      /** How the reply is damaged in transit. */
      readonly spoilt?: Spoilt
    }
  | { readonly kind: 'fault'; readonly fault: ServiceFault }
  /** Not from this API at all: a proxy's error page, for example. */
  | { readonly kind: 'foreign'; readonly status: number; readonly contentType: string; readonly body: string }
  /** The connection is closed, or kept open for ever, without an answer. */
  | { readonly kind: 'hang-up' | 'silence' }

/** How a reply is streamed: in pieces of a number of characters, each after a delay. */
export interface Pace {
  readonly pieceChars: number
  readonly pieceMs: number
}

/** Cut off in the middle, never ending, or with invalid UTF-8. */
export type Spoilt = 'cut' | 'endless' | 'bad-utf8'
