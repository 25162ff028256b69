import type { Agent } from '../../core/agent.ts'
import type { Judge } from '../../core/judge.ts'
import type { ModelClient } from '../../core/model.ts'
import type { Reviewer } from '../../core/review.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { PlugInChoice } from '../../core/stage.ts'
import type { HostEnv, SandboxAlternatives } from '../trial.ts'

/** Who gives a second opinion: solvers who see only the instruction, and a reviewer of what came of it. */
export interface Opinion {
  /** How often a task is attempted. */
  readonly tries: number
  readonly agent: PlugInChoice
  /** The solver's model. */
  readonly client: ModelClient
  readonly review: Reviewer
}

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
  /** After the lints, only whether the environment starts. */
  readonly startOnly?: boolean | undefined
  /** How often a start that failed for a reason outside the task is repeated (default: 0). */
  readonly retries?: number | undefined
  readonly signal: AbortSignal
  /** For tasks that a model judges. */
  readonly judge?: Judge | undefined
  /** Absent: no second opinion is asked for. */
  readonly opinion?: Opinion | undefined
}
