import type { ModelClient, ModelReply } from './model.ts'
import type { Sandbox, ToolDir } from './sandbox.ts'
import type { McpServer, Task, User } from './task.ts'

/** How an agent stopped by itself or was stopped. None of these is an error. */
export type AgentExit =
  | { readonly kind: 'finished' }
  | { readonly kind: 'limit'; readonly limit: 'time' | 'turns' | 'context' | 'cost' | 'storage' }
  /** The agent's own program ended badly; its work is still verified, as Harbor does. */
  | { readonly kind: 'exited'; readonly exitCode: number }

export interface Usage {
  /** Includes tokens served from the cache. */
  readonly inputTokens: number | null
  readonly cacheTokens: number | null
  readonly outputTokens: number | null
  readonly costUsd: number | null
}

/** What an agent can say about a reply: it could not read it, or the conversation was replaced by a shorter one after it. */
export const replyMarks = ['unparsed', 'before-handoff'] as const
export type ReplyMark = (typeof replyMarks)[number]

/** A call that never reached a model: by which API it came, and why it was refused. */
export interface RefusedCall {
  readonly dialect: string
  readonly code: string
  readonly message: string
}

/** What an agent says about its run while it runs; the last word on each key counts. */
export interface Recorder {
  usage(usage: Partial<Usage>): void
  metadata(values: Readonly<Record<string, unknown>>): void
  /** One line in the trial's log. */
  log(line: string): void
  /** Marks a reply for those who choose what to train on. Does nothing when the reply did not come from `AgentAt.client`. */
  mark(reply: Pick<ModelReply, 'call'>, mark: ReplyMark): void
  /** Notes a call that was refused before it reached a model. The first hundred are written one by one, the rest are counted. */
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
  /** When the run will be stopped; null when nothing stops it. */
  readonly deadline: Date | null
  /** A host directory that becomes the trial's `agent/`. */
  readonly logsDir: string
  /** Takes the trial's secrets out of a text that is going to be written. */
  readonly mask: (text: string) => string
  /** What `mask` takes out, for a text that is written in pieces: a secret may be cut between two of them. */
  readonly secrets: readonly string[]
  readonly record: Recorder
}

/** A program that works on a task in a sandbox. Throws plain errors; the trial blames them on the agent. */
export interface Agent {
  readonly name: string
  readonly version: string
  /** It cannot work without `AgentAt.client`. */
  readonly needsModel?: boolean
  /** False: even with the same replies its requests differ from run to run, so that an interrupted trial always starts over. Default: true. */
  readonly repeats?: boolean
  /** Digests of what it was made from beside its options, by what it is: with others it is another experiment. */
  readonly digests?: Readonly<Record<string, string>>
  /** Throws UserError when this machine lacks what the agent needs for a task; called before anything starts, touches nothing. */
  check?(task: Task): void
  /** Throws UserError when its model cannot work on a task, for example because its context is too small; called before anything starts. */
  checkModel?(client: ModelClient, task: Task): void
  /** Finds or installs, before its sandbox is there, what every sandbox of its trials shares; it is seen inside, not written to. */
  toolDirs?(at: Pick<AgentAt, 'signal' | 'record'>): Promise<readonly ToolDir[]>
  /** Makes the sandbox ready; runs before the clock of the task starts. */
  prepare?(at: AgentAt): Promise<void>
  solve(at: AgentAt): Promise<AgentExit>
}
