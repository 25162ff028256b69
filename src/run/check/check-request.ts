import type { Agent } from '../../core/agent.ts'
import type { Judge } from '../../core/judge.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { HostEnv, SandboxAlternatives } from '../trial.ts'

/** What checks of tasks need. */
export interface CheckRequest {
  readonly provider: SandboxProvider
  readonly sandboxOptions: Readonly<Record<string, unknown>>
  /** `oracle`, `nop` and `forger`, fresh for every trial. */
  readonly makeAgent: (name: string, options: Readonly<Record<string, unknown>>) => Promise<Agent>
  readonly alternatives: SandboxAlternatives
  readonly hostEnv: HostEnv
  /** How often the oracle runs. */
  readonly repeats: number
  /** Lints alone start nothing. */
  readonly lintOnly: boolean
  readonly signal: AbortSignal
  /** For tasks that a model judges. */
  readonly judge?: Judge | undefined
}
