import type { ServedModel } from '../model-dialect.ts'
import type { ServedCall, ServedReply, ServiceFault } from './server-dialect.ts'

/** What answers calls of models, whatever API they come in. Its answers may be as bad as a real server's. */
export interface ModelService {
  /** Finds what it needs; throws UserError when something of it is wrong. May be called again. */
  prepare(): Promise<void>
  answer(call: ServedCall, signal: AbortSignal): Promise<ServiceAnswer>
  models(): Promise<readonly ServedModel[]>
  /** How busy it is right now. */
  load(): ServiceLoad
}

export interface ServiceLoad {
  readonly running: number
  readonly waiting: number
  /** How full the memory for conversations is, from 0 to 1. */
  readonly cacheUse: number
}

export type ServiceAnswer =
  | {
      readonly kind: 'reply'
      readonly reply: ServedReply
      readonly pace?: Pace
      /** What happens to it on the way. */
      readonly spoilt?: Spoilt
    }
  | { readonly kind: 'fault'; readonly fault: ServiceFault }
  /** Not of this API at all: the page of a proxy, for example. */
  | { readonly kind: 'foreign'; readonly status: number; readonly contentType: string; readonly body: string }
  /** The connection is closed, or kept open for ever, without a word. */
  | { readonly kind: 'hang-up' | 'silence' }

/** How a reply comes: in pieces of a number of characters, each after a wait. */
export interface Pace {
  readonly pieceChars: number
  readonly pieceMs: number
}

/** Cut off in the middle, never ending, or with bytes that are no UTF-8. */
export type Spoilt = 'cut' | 'endless' | 'bad-utf8'
