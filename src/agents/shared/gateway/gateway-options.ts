import type { RefusedCall } from '../../../core/agent.ts'
import type { ModelClient } from '../../../core/model.ts'
import type { CallRecorder } from '../../../formats/atif/recorder/call-recorder.ts'
import { type BodyLimits, HttpPool, type HttpUse } from '../../../lib/http-share.ts'
import type { CallCounts } from './ask-model.ts'

/** What a gateway stands between, and how it behaves. */
export interface GatewayOptions {
  /** Holds the only copy of the provider's key. */
  readonly client: ModelClient
  readonly recorder: CallRecorder
  /** Hears of each call that is refused before it reaches the model. */
  readonly refused: (call: RefusedCall) => void
  /** Ask for token ids with every call, whatever the agent asks for. */
  readonly tokenDetails?: boolean
  /** How long a stream may be silent before it gets a sign of life; default 60 s. */
  readonly silenceMs?: number
  /** Told after every call how many there were and what came of them. */
  readonly onCount?: (counts: CallCounts) => void
  /** Other limits than the usual ones. */
  readonly limits?: Partial<GatewayLimits>
}

/** What the agent of one trial may use of the process that runs all of them. */
export interface GatewayLimits extends HttpUse, BodyLimits {
  /** How long a new connection may take to say what it wants. */
  readonly headMs: number
}

const megabyte = 1 << 20

/** Far more than agents need: the largest prompts are a few megabytes, and those who ask in parallel ask ten at a time. */
export const gatewayLimits: GatewayLimits = {
  connections: 128,
  requests: 64,
  bytes: 64 * megabyte,
  bodyBytes: 32 * megabyte,
  headMs: 30_000,
  idleMs: 30_000,
  totalMs: 300_000,
}

/** What an agent gets even while the agents of other trials use all they can. */
export const sureShare: HttpUse = { connections: 8, requests: 8, bytes: 4 * megabyte }

/** What the agents of all trials share beyond that. */
export const gatewayPool = new HttpPool({ connections: 2048, requests: 1024, bytes: 512 * megabyte })
