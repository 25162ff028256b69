import type { Agent } from '../../core/agent.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { Reviewer } from '../../core/review.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { PlugInChoice } from '../../core/stage.ts'
import type { HostEnv, SandboxAlternatives } from '../trial.ts'

/** How to get a second opinion: solvers that see only the instruction, and a reviewer of their results. */
export interface Opinion {
  /** How often a task is attempted. */
  readonly tries: number
  readonly agent: PlugInChoice
  /** The solver's model. */
  readonly client: ModelClient
  readonly review: Reviewer
}

/** Everything that checking tasks needs. */
export interface CheckRequest {
  readonly provider: SandboxProvider
  readonly sandboxOptions: Readonly<Record<string, unknown>>
  /** `oracle`, `nop` and `forger`, fresh for every trial. */
  readonly makeAgent: (name: string, options: Readonly<Record<string, unknown>>) => Promise<Agent>
  readonly alternatives: SandboxAlternatives
  readonly hostEnv: HostEnv
  /** How often the oracle runs. */
  readonly repeats: number
  /** Only run the lints, which start nothing. */
  readonly lintOnly: boolean
  /** After the lints, only check that the environment starts. */
  readonly startOnly?: boolean | undefined
  /** How often to retry a start that failed for a reason outside the task (default: 0). */
  readonly retries?: number | undefined
  readonly signal: AbortSignal
  /** For tasks judged by a model. */
  readonly judge?: Judge | undefined
  /** Absent: no second opinion is requested. */
  readonly opinion?: Opinion | undefined
}
