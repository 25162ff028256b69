import type { AgentAt } from '../../core/agent.ts'
import type { ModelClient } from '../../core/model.ts'
import type { FinalMetrics } from '../../formats/atif/trajectory.ts'
import type { TerminalSession } from '../../lib/terminal/session.ts'
import type { Calls } from './calls.ts'
import type { Chat } from './chat.ts'
import type { EpisodeFiles } from './episode-files.ts'
import type { Limits } from './limits.ts'
import type { Settings } from './options.ts'
import type { Dialect } from './parsed.ts'
import type { Prompts } from './prompts.ts'
import type { Rollouts } from './rollout.ts'
import type { Story } from './trajectory.ts'

/** Why a run ended. */
export type StopReason =
  | 'task-complete'
  | 'max-turns'
  | 'terminal-closed'
  | 'parse-errors'
  | 'output-length'
  | 'content-filter'
  | 'context'
  | 'cost'
  | 'time'

/** Everything one run of the agent works with; nothing of it outlives the run. */
export interface Run {
  readonly at: AgentAt
  readonly signal: AbortSignal
  readonly client: ModelClient
  readonly settings: Settings
  readonly limits: Limits
  readonly dialect: Dialect
  readonly prompts: Prompts
  readonly session: TerminalSession
  /** The task's instruction with everything added to it. */
  readonly instruction: string
  readonly calls: Calls
  readonly chat: Chat
  readonly rollouts: Rollouts
  readonly story: Story
  readonly files: EpisodeFiles
  /** Totals so far. */
  finalMetrics(): FinalMetrics
}
