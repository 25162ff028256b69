import type { ChatMessage, ToolDefinition } from '../../core/model.ts'

/** One conversation of a session: the main context, one after a compaction, or a subagent's. */
export interface ImportedConversation {
  /** `main`, or which subagent. */
  readonly source: string
  readonly messages: readonly ChatMessage[]
  /** How many leading messages are copied from the previous context. */
  readonly copied: number
}

/** A recorded run of another tool. Unknown facts are null. */
export interface ImportedSession {
  readonly agent: string
  readonly model: string | null
  readonly provider: string | null
  /** ISO 8601. */
  readonly date: string | null
  readonly task: string | null
  readonly runId: string | null
  /** The user's request, without text added by the tool. */
  readonly instruction: string | null
  readonly conversations: readonly ImportedConversation[]
  readonly tools: readonly ToolDefinition[]
  readonly reward: number | null
  /** finished, or the limit that stopped the agent. */
  readonly exit: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/** Why a file, line or session is not imported. */
export interface ImportProblem {
  /** A short kebab-case word, used for counting. */
  readonly reason: string
  readonly detail: string
}

/** Thrown by a format's reader for an unusable session. */
export class UnusableSession extends Error {
  constructor(
    readonly reason: string,
    detail: string,
  ) {
    super(detail)
  }
}

/** A session with defaults for what its tool does not say. */
export function session(
  agent: string,
  messages: readonly ChatMessage[],
  facts: Partial<ImportedSession> = {},
): ImportedSession {
  return {
    agent,
    model: null,
    provider: null,
    date: null,
    task: null,
    runId: null,
    instruction: null,
    conversations: [{ source: 'main', messages, copied: 0 }],
    tools: [],
    reward: null,
    exit: null,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    ...facts,
  }
}
