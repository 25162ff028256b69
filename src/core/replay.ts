import { z } from 'zod'
import type { TokenUsage } from './budget.ts'
import type { ChatMessage, ModelFacts, ModelReply, ToolDefinition } from './model.ts'
import type { TrialRecord } from './trial.ts'

/** One reply of a model as a dataset or a job keeps it: what was sent, and what was answered. */
export interface RecordedTurn {
  /** The id of the row it is in. */
  readonly row: string
  /** The number of the reply in its row, from 1. */
  readonly turn: number
  /** `main`, or what the conversation was for. */
  readonly source: string
  readonly sent: readonly ChatMessage[]
  /** Null when they were not recorded. */
  readonly tools: readonly ToolDefinition[] | null
  readonly reply: Pick<ModelReply, 'text' | 'reasoning' | 'reasoningBlocks' | 'toolCalls' | 'finish'>
  /** What the server counted; null when not recorded. */
  readonly usage: TokenUsage | null
  /** The rest of the reply as it was billed; absent in datasets. */
  readonly paid?: Omit<
    ModelReply,
    'tokens' | 'call' | 'text' | 'reasoning' | 'reasoningBlocks' | 'toolCalls' | 'finish'
  >
}

/** The turns of one trial, of all its conversations, in the order in which they began. */
export interface RecordedTrial {
  readonly turns: readonly RecordedTurn[]
  /** When it was recorded, if known: a clock that shows this time is not an observation. */
  readonly at: Date | null
  /** True when a limit or a failure ended the recording, so the agent would have asked for more. */
  readonly isCut: boolean
  /** False when, as far as is known, no request was refused for its length (default: one may have been). */
  readonly wasRefused?: boolean
}

/** What an attempt recorded before it was interrupted, one part for each directory its agent worked with. */
export interface RecordedAttempt {
  /** By step name; null for a task without steps. */
  readonly rounds: ReadonlyMap<string | null, RecordedRound>
}

export interface RecordedRound extends RecordedTrial {
  /** What the agent knew about its model; null when it was not recorded. */
  readonly model: Pick<ModelFacts, 'contextTokens' | 'outputTokens'> | null
}

/** Where a replay diverged from the recording. Texts come from the agent or the task: hostile. */
export interface Divergence {
  readonly turn: number
  /** Which message of the request differs, from 1; null when it is not about a message. */
  readonly message: number | null
  readonly what: string
  readonly expected: string
  readonly got: string
}

/** What a replay says about one row. */
export type ReplayVerdict =
  | { readonly kind: 'holds' }
  | ({ readonly kind: 'diverged' } & Divergence)
  | { readonly kind: 'cannot-be-replayed'; readonly reason: string }

/** The outcome of replaying some rows, as runs and datasets keep it. */
export const replayResultSchema = z.object({
  rows: z.number(),
  holds: z.number(),
  diverged: z.number(),
  /** Rows that cannot be replayed. */
  cannot: z.number(),
  /** A line for people about the first row that does not hold; null when all do. */
  trouble: z.string().nullable(),
})
export type ReplayResult = Readonly<z.output<typeof replayResultSchema>>

/** The outcome of a replay, in one sentence. */
export function describeReplay({ rows, holds, trouble }: ReplayResult): string {
  const all = `${holds} of ${rows} replayed rows hold`
  return trouble === null ? all : `${all}: ${trouble}`
}

/** The digest of the prompts that the agent of a trial, or of its first step, reported. */
export function promptsDigestOf({ metadata, steps }: TrialRecord): string | null {
  const told = metadata?.prompts_digest ?? steps?.[0]?.metadata?.prompts_digest
  return typeof told === 'string' ? told : null
}
