import type { SkillsAndMcp, SkillsAndMcpSupport } from '../skills-and-mcp/set-up.ts'
import type { ToolSource } from './install-tool.ts'

/** What a command-line agent is told about the trial it runs in. */
export interface CommandAgentContext extends SkillsAndMcp {
  /** Where its tools are inside the sandbox; nothing can be written there. */
  readonly toolDir: string
  /** A home of its own inside the sandbox. */
  readonly home: string
  /** The gateway's address, without a path. */
  readonly baseUrl: string
  /** The trial's key; never a provider's. */
  readonly key: string
  readonly model: string
  readonly contextTokens: number
  readonly outputTokens: number
  /** The sandbox's processor as npm names it: `arm64` or `x64`. */
  readonly cpu: string
}

/** A command-line agent that others wrote, described: what to install, what to write, what to run. */
export interface CommandAgent extends SkillsAndMcpSupport {
  readonly tool: ToolSource
  /** Files to write before it starts, by their path inside. */
  files(context: CommandAgentContext): Readonly<Record<string, string>>
  env(context: CommandAgentContext): Readonly<Record<string, string>>
  /** Run directly, in the task's working directory, with nothing on stdin. */
  argv(context: CommandAgentContext): readonly string[]
}
