import type { ChatMessage, ToolDefinition } from '../../core/model.ts'

/** One conversation of a session: the main context, one after a compaction, or a subagent's. */
export interface ImportedConversation {
  /** `main`, or which subagent. */
  readonly source: string
  readonly messages: readonly ChatMessage[]
  /** How many messages at the beginning come from the context before it. */
  readonly copied: number
}

/** A recorded run of another tool. What the tool does not say is null. */
export interface ImportedSession {
  readonly agent: string
  readonly model: string | null
  readonly provider: string | null
  /** ISO 8601. */
  readonly date: string | null
  readonly task: string | null
  readonly runId: string | null
  /** What the user asked for, without what the tool adds around it. */
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

/** Why a file, a line or a session is not imported. */
export interface ImportProblem {
  /** A short word in kebab case that counts are kept by. */
  readonly reason: string
  readonly detail: string
}

/** Thrown by the reader of a format for a session that cannot be used. */
export class UnusableSession extends Error {
  constructor(
    readonly reason: string,
    detail: string,
  ) {
    super(detail)
  }
}

/** What a session holds when its tool says nothing else. */
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
