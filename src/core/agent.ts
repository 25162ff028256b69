import type { ModelClient, ModelReply } from './model.ts'
import type { Sandbox, ToolDir } from './sandbox.ts'
import type { McpServer, Task, User } from './task.ts'

/** How an agent ended, by itself or by a limit. None of these is an error. */
export type AgentExit =
  | { readonly kind: 'finished' }
  | { readonly kind: 'limit'; readonly limit: 'time' | 'turns' | 'context' | 'cost' | 'storage' }
  /** The agent's own program exited with an error; its work is still verified, as in Harbor. */
  | { readonly kind: 'exited'; readonly exitCode: number }

export interface Usage {
  /** Includes tokens served from the cache. */
  readonly inputTokens: number | null
  readonly cacheTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/**
 * What an agent can note about a reply: it could not parse it, or a shorter conversation replaced this one after it.
 */
export const replyMarks = ['unparsed', 'before-handoff'] as const
export type ReplyMark = (typeof replyMarks)[number]

/** A call that was refused before it reached a model: the API it came through, and why it was refused. */
export interface RefusedCall {
  readonly dialect: string
  readonly code: string
  readonly message: string
}

/** What an agent reports while it runs; for each key, the last value wins. */
export interface Recorder {
  usage(usage: Partial<Usage>): void
  metadata(values: Readonly<Record<string, unknown>>): void
  /** One line in the trial's log. */
  log(line: string): void
  /**
   * Marks a reply for later selection of training data. Does nothing if the reply did not come from `AgentAt.client`.
   */
  mark(reply: Pick<ModelReply, 'call'>, mark: ReplyMark): void
  /**
   * Records a call that was refused before it reached a model. The first hundred are written out, the rest only
   * counted.
   */
  refused(call: RefusedCall): void
}

export interface AgentAt {
  readonly task: Task
  /** Null for a single-step task. */
  readonly step: { readonly name: string; readonly dir: string } | null
  /** What the agent is told to do. */
  readonly instruction: string
  readonly sandbox: Sandbox
  readonly user: User | undefined
  /** Model name as given, for example `openai/gpt-x`; null when none was. */
  readonly model: string | null
  /** How to talk to that model; null when the trial has none. */
  readonly client: ModelClient | null
  /** Resolved variables for the agent's own commands. */
  readonly env: Readonly<Record<string, string>>
  readonly mcpServers: readonly McpServer[]
  readonly signal: AbortSignal
  /** When the run will be stopped; null without a time limit. */
  readonly deadline: Date | null
  /** A host directory that becomes the trial's `agent/`. */
  readonly logsDir: string
  /** Masks the trial's secrets in a text that is about to be written. */
  readonly mask: (text: string) => string
  /** The secrets that `mask` removes, for text written in pieces: a secret may be split across two of them. */
  readonly secrets: readonly string[]
  readonly record: Recorder
}

/** A program that works on a task in a sandbox. Throws plain errors; the trial blames them on the agent. */
export interface Agent {
  readonly name: string
  readonly version: string
  /** It cannot work without `AgentAt.client`. */
  readonly needsModel?: boolean
  /**
   * False: its requests differ from run to run even with the same replies, so an interrupted trial always starts over.
   * Default: true.
   */
  readonly repeats?: boolean
  /** Digests of what it was made from besides its options, by name; other digests make it another experiment. */
  readonly digests?: Readonly<Record<string, string>>
  /** Throws UserError when this machine lacks what the agent needs for a task; called before anything starts, touches nothing. */
  check?(task: Task): void
  /** Throws UserError when its model cannot work on a task, for example because its context is too small; called before anything starts. */
  checkModel?(client: ModelClient, task: Task): void
  /** Finds or installs what all sandboxes of its trials share, before they exist. Sandboxes see it read-only. */
  toolDirs?(at: Pick<AgentAt, 'signal' | 'record'>): Promise<readonly ToolDir[]>
  /** Makes the sandbox ready; runs before the task's clock starts. */
  prepare?(at: AgentAt): Promise<void>
  solve(at: AgentAt): Promise<AgentExit>
}
