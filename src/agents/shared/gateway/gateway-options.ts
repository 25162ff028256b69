import type { RefusedCall } from '../../../core/agent.ts'
import type { ModelClient } from '../../../core/model.ts'
import type { CallRecorder } from '../../../formats/atif/recorder/call-recorder.ts'
import { type BodyLimits, HttpPool, type HttpUse } from '../../../lib/http-share.ts'
import type { CallCounts } from './ask-model.ts'

/** What a gateway connects, and how it behaves. */
export interface GatewayOptions {
  /** Holds the only copy of the provider's key. */
  readonly client: ModelClient
  readonly recorder: CallRecorder
  /** Called for each call that is refused before it reaches the model. */
  readonly refused: (call: RefusedCall) => void
  /** Request token ids with every call, whether or not the agent does. */
  readonly tokenDetails?: boolean
  /** How long a stream may be silent before a keep-alive is sent; default 60 s. */
  readonly silenceMs?: number
  /** Called after every call with the totals so far. */
  readonly onCount?: (counts: CallCounts) => void
  /** Limits that differ from the defaults. */
  readonly limits?: Partial<GatewayLimits>
}

/** How much of the shared process one trial's agent may use. */
export interface GatewayLimits extends HttpUse, BodyLimits {
  /** How long a new connection may take to send its request head. */
  readonly headMs: number
}

const megabyte = 1 << 20

/**
 * Far more than agents need: the largest prompts are a few megabytes, and agents that make parallel calls make about
 * ten at a time.
 */
export const gatewayLimits: GatewayLimits = {
  connections: 128,
  requests: 64,
  bytes: 64 * megabyte,
  bodyBytes: 32 * megabyte,
  headMs: 30_000,
  idleMs: 30_000,
  totalMs: 300_000,
}

/** Guaranteed to each agent even if the agents of other trials use all they can. */
export const sureShare: HttpUse = { connections: 8, requests: 8, bytes: 4 * megabyte }

/** What the agents of all trials share beyond that. */
export const gatewayPool = new HttpPool({ connections: 2048, requests: 1024, bytes: 512 * megabyte })
