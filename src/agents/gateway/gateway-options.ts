import type { ModelClient } from '../../core/model.ts'
import type { CallRecorder } from '../../formats/atif/recorder/call-recorder.ts'
import type { CallCounts } from './ask-model.ts'

/** What a gateway stands between, and how it behaves. */
export interface GatewayOptions {
  /** Holds the only copy of the provider's key. */
  readonly client: ModelClient
  readonly recorder: CallRecorder
  /** Ask for token ids with every call, whatever the agent asks for. */
  readonly tokenDetails?: boolean
  /** How long a stream may be silent before it gets a sign of life; default 60 s. */
  readonly silenceMs?: number
  /** Told after every call how many there were and what came of them. */
  readonly onCount?: (counts: CallCounts) => void
}
