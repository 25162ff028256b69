import type { SkillsAndMcp, SkillsAndMcpSupport } from '../skills-and-mcp/set-up.ts'
import type { ToolSource } from './install-tool.ts'

/** What a command-line agent gets to know about its trial. */
export interface CommandAgentContext extends SkillsAndMcp {
  /** Where its tools are inside the sandbox; read-only. */
  readonly toolDir: string
  /** Its own home directory inside the sandbox. */
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

/** Describes a third-party command-line agent: what to install, what to write, what to run. */
export interface CommandAgent extends SkillsAndMcpSupport {
  readonly tool: ToolSource
  /** Files to write before it starts, by their path in the sandbox. */
  files(context: CommandAgentContext): Readonly<Record<string, string>>
  env(context: CommandAgentContext): Readonly<Record<string, string>>
  /** Run directly, in the task's working directory, with nothing on stdin. */
  argv(context: CommandAgentContext): readonly string[]
}
